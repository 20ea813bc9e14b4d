//! What the namespace's routes say of the way to a peer (ip-route(8)): the kernel is asked, as `ip route get` asks it.
#![forbid(unsafe_code)]

use std::io;
use std::net::IpAddr;

use handfast_core::Duration;
use handfast_tcp::{Config, InitialWindow};
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteMetric};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Bits of `RTAX_LOCK` (linux/rtnetlink.h): the kernel does not change what is locked.
const LOCKED_MTU: u32 = 1 << 2;
const LOCKED_RTO_MIN: u32 = 1 << 13;
/// `RTAX_FEATURE_ECN`
const FEATURE_ECN: u32 = 1;

/// The metrics of a route that TCP heeds; `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// `mtu`: octets of a packet.
    pub mtu: Option<u16>,
    /// `mtu lock`: what ICMP says of it does not count.
    pub mtu_locked: bool,
    /// `advmss`: octets of a segment that we say we take.
    pub advmss: Option<u16>,
    /// `initcwnd`, segments.
    pub initial_window: Option<u32>,
    /// `rto_min`
    pub rto_min: Option<Duration>,
    /// `features ecn`: we ask for ECN, and grant it.
    pub ecn: bool,
}

impl Route {
    /// The way to `remote` in the namespace that this process is in; nothing where there is none.
    pub fn of_this_namespace(remote: IpAddr) -> Self {
        ask(remote).map(|message| Self::read(&message)).unwrap_or_default()
    }

    fn read(message: &RouteMessage) -> Self {
        let metrics = message.attributes.iter().filter_map(|attribute| match attribute {
            RouteAttribute::Metrics(metrics) => Some(metrics),
            _ => None,
        });
        let (mut route, mut locked) = (Self::default(), 0);
        for metric in metrics.flatten() {
            match *metric {
                RouteMetric::Lock(bits) => locked |= bits,
                // Zero is no value (`dst_metric`).
                RouteMetric::Mtu(octets) if octets > 0 => route.mtu = Some(narrow(octets)),
                RouteMetric::Advmss(octets) if octets > 0 => route.advmss = Some(narrow(octets)),
                RouteMetric::InitCwnd(segments) if segments > 0 => route.initial_window = Some(segments),
                RouteMetric::RtoMin(ms) => route.rto_min = Some(Duration::from_millis(ms.into())),
                RouteMetric::Features(bits) => route.ecn = bits & FEATURE_ECN != 0,
                _ => {}
            }
        }
        route.mtu_locked = locked & LOCKED_MTU != 0;
        // `tcp_rto_min`
        route.rto_min = route.rto_min.filter(|_| locked & LOCKED_RTO_MIN != 0);
        route
    }

    /// A connection that goes this way.
    pub(crate) fn over(&self, mut config: Config) -> Config {
        if let Some(segments) = self.initial_window {
            config.initial_window = InitialWindow::Segments(segments);
        }
        if let Some(least) = self.rto_min {
            (config.rto_min, config.rto_variance_min) = (least, least);
        }
        config.ecn |= self.ecn;
        config
    }
}

/// As many octets as a packet has at most.
fn narrow(octets: u32) -> u16 {
    u16::try_from(octets).unwrap_or(u16::MAX)
}

/// rtnetlink(7), `RTM_GETROUTE`
fn ask(remote: IpAddr) -> io::Result<RouteMessage> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut message =
        NetlinkMessage::new(header(), NetlinkPayload::from(RouteNetlinkMessage::GetRoute(request(remote))));
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?.payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => Ok(route),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        _ => Err(io::Error::other("another answer than a route")),
    }
}

fn header() -> NetlinkHeader {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    header
}

fn request(remote: IpAddr) -> RouteMessage {
    let mut message = RouteMessage::default();
    let (family, bits) =
        if remote.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
    message.header.address_family = family;
    message.header.destination_prefix_length = bits;
    message.attributes.push(RouteAttribute::Destination(remote.into()));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(metrics: Vec<RouteMetric>) -> Route {
        let mut message = RouteMessage::default();
        message.attributes.push(RouteAttribute::Metrics(metrics));
        Route::read(&message)
    }

    #[test]
    fn metrics_that_are_zero_or_not_there_say_nothing() {
        assert_eq!(Route::read(&RouteMessage::default()), Route::default());
        assert_eq!(with(vec![RouteMetric::Mtu(0), RouteMetric::Advmss(0)]), Route::default());
    }

    #[test]
    fn a_route_says_what_its_metrics_say() {
        let metrics = |lock| {
            vec![
                RouteMetric::Lock(lock),
                RouteMetric::Mtu(640),
                RouteMetric::Advmss(600),
                RouteMetric::InitCwnd(11),
                RouteMetric::RtoMin(300),
                RouteMetric::Features(1),
            ]
        };
        let route = with(metrics(LOCKED_MTU | LOCKED_RTO_MIN));
        let expected = Route {
            mtu: Some(640),
            mtu_locked: true,
            advmss: Some(600),
            initial_window: Some(11),
            rto_min: Some(Duration::from_millis(300)),
            ecn: true,
        };
        assert_eq!(route, expected);
        assert_eq!(with(metrics(0)), Route { mtu_locked: false, rto_min: None, ..expected });
    }

    #[test]
    fn a_connection_heeds_its_route_and_else_its_namespace() {
        let base = Config::default();
        assert_eq!(Route::default().over(base.clone()), base);
        let route = Route { initial_window: Some(4), ecn: true, ..Route::default() };
        let config = route.over(base);
        assert_eq!((config.initial_window, config.ecn), (InitialWindow::Segments(4), true));
    }
}
