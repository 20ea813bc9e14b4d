//! Multipath TCP (RFC 8684): an application's stream in one connection over all addresses of both hosts. The machine is
//! `handfast-mptcp`; here are applications on it, and who opens which sub-flow.

mod layer;
mod paths;
mod receiver;
mod sender;

use handfast_core::Stream;
use handfast_mptcp::Config;

use crate::app::{Sink, Source};
use crate::sctp::{Flow, Host, Rules};
use crate::session::Sending;
use crate::transport::Transport;
use layer::Layer;
use paths::Paths;
use receiver::Receiver;
use sender::Sender;

/// Both ends of a flow, the sender first: it opens the connection. `tcp`: what the sub-flows are at the sender and at the receiver.
/// `layers`: those of their hosts, if they have one.
pub fn ends(
    flow: &Flow<'_>,
    tcp: [&handfast_tcp::Config; 2],
    hosts: &[Host; 2],
    layers: [Option<Rules>; 2],
) -> [Box<dyn Transport>; 2] {
    let [layer, layer_there] = layers.map(|rules| rules.map(Layer::new));
    let random = |end: &str| Stream::new(flow.seed, &format!("mptcp {} {end}", flow.name));
    let [own, other] = hosts;
    let [config, config_there] = tcp.map(Config::new);
    let sending = Sending::new(flow.stream, Source::new(flow.app, flow.start, flow.stop));
    let sender = Sender::new(sending, flow.start, config, random("sender"), Paths::new(own, other), layer);
    let sink = Sink::new(flow.stream, None);
    let receiver = Receiver::new(sink, config_there, random("receiver"), Paths::new(other, own), layer_there);
    [Box::new(sender), Box::new(receiver)]
}

#[cfg(test)]
mod tests;
