//! SCTP (RFC 9260) over UDP (RFC 6951): an application's stream in one association over all addresses of both hosts. The machine is
//! `handfast-sctp`.

mod carrier;
mod layer;
mod receiver;
mod sender;
mod settings;

use std::net::IpAddr;

use handfast_core::{Bytes, Instant, Stream};
use handfast_sctp::{Config, CookieKey};

use crate::app::{App, Sink, Source};
use crate::session::Sending;
use crate::transport::Transport;
use carrier::Ways;
use layer::Layer;
use receiver::Receiver;
use sender::Sender;

pub use layer::{ID_LEN, Rules};
pub use settings::Settings;

/// Bytes of a UDP header: they are taken from the packet (RFC 6951 §5.6).
const UDP_HEADER: u64 = 8;

/// The longest IP packet.
const MTU: u64 = 1500;

/// A host, as its peer's association knows it.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its addresses, the primary one first.
    pub addresses: Vec<IpAddr>,
    /// Its port.
    pub port: u16,
}

/// What an association is for.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    /// Its name: both ends draw their tags and nonces by it.
    pub name: &'a str,
    /// Names its bytes.
    pub stream: u32,
    /// What sends.
    pub app: App,
    /// When the sender opens it.
    pub start: Instant,
    /// When it closes it.
    pub stop: Option<Instant>,
    /// The run's.
    pub seed: u64,
}

/// The configuration of both ends where nothing says otherwise: §16's, with a buffer like that of the TCP beside it.
pub fn config(buffer: Bytes) -> Config {
    let (receive_buffer, send_buffer) = (buffer, Bytes(2 * buffer.get()));
    Config { mtu: Bytes(MTU - UDP_HEADER), receive_buffer, send_buffer, ..Config::default() }
}

/// Both ends of a flow, the sender first: it opens the association. `layers`: those of the sender's host and the receiver's, if they have
/// one.
pub fn ends(
    flow: &Flow<'_>,
    config: Config,
    hosts: &[Host; 2],
    layers: [Option<Rules>; 2],
) -> [Box<dyn Transport>; 2] {
    let random = |end: &str| Stream::new(flow.seed, &format!("sctp {} {end}", flow.name));
    let [own, other] = hosts;
    let sending = Sending::new(flow.stream, Source::new(flow.app, flow.start, flow.stop));
    let ways = |local: &Host, remote: &Host| Ways { local: local.clone(), remote: remote.clone() };
    let [layer, layer_there] = layers.map(|rules| rules.map(Layer::new));
    let sender = Sender::new(sending, flow.start, config, random("sender"), ways(own, other), layer);
    let sink = Sink::new(flow.stream, None);
    let receiver = Receiver::new(sink, config, random("receiver"), ways(other, own), layer_there);
    [Box::new(sender), Box::new(receiver)]
}

/// A secret for cookies.
fn key(random: &mut Stream) -> CookieKey {
    let mut secret = [0; 32];
    for part in secret.chunks_mut(8) {
        part.copy_from_slice(&random.bits().to_be_bytes());
    }
    CookieKey::new(secret)
}

#[cfg(test)]
mod tests;
