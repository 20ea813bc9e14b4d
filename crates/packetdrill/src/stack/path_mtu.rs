//! What packets the way to a peer carries: the link's MTU, the route's, what ICMP has told (RFC 1191, RFC 8201), and what sockets want
//! of it.

use std::net::IpAddr;

use handfast_core::{Instant, SeqNum};

use super::connection::Connection;
use super::routes::Way;
use super::{Errno, Fd, Stack};
use crate::Settings;

/// `net.ipv4.route.min_pmtu` by default.
const LEAST_V4: u16 = 552;
/// RFC 8200 §5: every link carries as much.
const LEAST_V6: u16 = 1280;

/// What a segment without options holds in a packet (RFC 9293 §3.7.1).
pub(super) fn segment_in(mtu: u16, ip: IpAddr) -> u16 {
    mtu.saturating_sub(if ip.is_ipv4() { 40 } else { 60 })
}

/// `IP_MTU_DISCOVER`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discovery {
    /// `IP_PMTUDISC_DONT`: what did not fit is left to the timers.
    Passive,
    /// `IP_PMTUDISC_WANT`, `_DO`, `_PROBE`
    Active,
    /// `IP_PMTUDISC_INTERFACE`, `_OMIT`: IPv6 takes no word for it.
    Deaf,
}

impl Discovery {
    pub(super) fn of(value: i32) -> Self {
        match value {
            libc::IP_PMTUDISC_DONT => Self::Passive,
            libc::IP_PMTUDISC_INTERFACE | libc::IP_PMTUDISC_OMIT => Self::Deaf,
            _ => Self::Active,
        }
    }
}

impl Connection {
    /// Before the handshake: the way carries packets of `mtu` octets, MTUs are probed and the window is scaled as the namespace has it.
    pub(super) fn begin_path(&mut self, now: Instant, mtu: u16, joined: Option<u64>) {
        self.sync_mtu(mtu, false);
        let headers = if self.local.is_ipv4() { 40 } else { 60 };
        let memory = self.options.receive_memory(&self.settings, self.advertised, headers, joined);
        self.tcp_mut().set_receive_memory(memory);
        let shift = self.settings.window_shift(self.options.receive_buffer());
        self.tcp_mut().set_window_shift(shift);
        if let Some(how) = self.settings.probing() {
            self.tcp_mut().set_mtu_probing(now, how);
        }
    }

    /// The way carries packets of so many octets: segments are cut to that from now on (`tcp_sync_mss`).
    pub(super) fn sync_mtu(&mut self, mtu: u16, resend: bool) {
        if mtu == self.path_mtu {
            return;
        }
        self.path_mtu = mtu;
        let octets = segment_in(mtu, self.local.ip());
        self.tcp_mut().set_path_mss(octets, resend);
    }

    /// An ICMP error says that the way carries `route`, and had said `asked`.
    fn on_path_mtu(&mut self, now: Instant, route: u16, asked: u16) {
        let discovery = self.options.discovery(self.local.is_ipv4());
        // `ip_dont_fragment`: below `min_pmtu` the route's MTU is locked, and the default fragments.
        if asked < route && self.options.never_fragments(self.local.is_ipv4()) {
            self.note_soft_error(libc::EMSGSIZE);
        }
        if discovery == Discovery::Active && route < self.path_mtu {
            self.sync_mtu(route, true);
            self.pump(now, usize::MAX);
        }
    }
}

impl Stack {
    /// ICMP says "fragmentation needed" or "packet too big" about the segment at `seq` of the connection between two addresses.
    pub(super) fn arrive_path_mtu(&mut self, id: super::Id, seq: SeqNum, mtu: u32) {
        let settings = self.settings();
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id).filter(|c| c.is_outstanding(seq)) else {
            return;
        };
        let remote = connection.remote.ip();
        if connection.route.mtu_locked {
            // `__ip_rt_update_pmtu`
            return;
        }
        let before = self.routes.of(&settings, remote, &connection.route);
        let asked = u16::try_from(mtu).unwrap_or(u16::MAX);
        let route = if remote.is_ipv4() {
            // `__ip_rt_update_pmtu`: less than the least is the least.
            asked.max(settings.min_pmtu.unwrap_or(LEAST_V4)).min(before)
        } else if asked < LEAST_V6 || connection.options.discovery(false) == Discovery::Deaf {
            return;
        } else {
            asked.min(before)
        };
        if route < before {
            self.routes.learn(remote, route);
        }
        connection.on_path_mtu(now, route, asked);
    }

    /// Before something is written: what the way carries now (`tcp_current_mss`).
    pub(super) fn sync_mtu(&mut self, id: super::Id) {
        let settings = self.settings();
        if let Some(connection) = self.connections.get_mut(&id) {
            let mtu = self.routes.of(&settings, connection.remote.ip(), &connection.route);
            connection.sync_mtu(mtu, false);
        }
    }

    /// What a connection to `remote` that begins now knows of the way.
    pub(super) fn way_to(&self, settings: &Settings, remote: IpAddr) -> Way {
        let route = self.routes.ask(remote);
        let mtu = self.routes.of(settings, remote, &route);
        let most = self.routes.link(settings).max(mtu);
        // `ipv4_default_advmss`, `ip6_default_advmss`: what has been learnt counts too.
        let advertised = route.advmss.unwrap_or_else(|| segment_in(mtu, remote));
        Way { route, mtu, most, advertised }
    }

    /// `IP_MTU`, `IPV6_MTU`
    pub(super) fn path_mtu_of(&mut self, fd: Fd) -> Result<i32, Errno> {
        let (_, connection) = self.connection(fd, libc::ENOTCONN)?;
        let (remote, route) = (connection.remote.ip(), connection.route.clone());
        let settings = self.settings();
        Ok(self.routes.of(&settings, remote, &route).into())
    }
}
