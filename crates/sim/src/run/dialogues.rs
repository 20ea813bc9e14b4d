//! Opens flows of which one end asks and the other answers.

use handfast_core::Instant;
use handfast_host::app::Sink;
use handfast_host::app::dialogues::Kind;
use handfast_host::dialogue::{Asker, SharedAsker};
use handfast_host::meter::SharedMeter;
use handfast_host::over_tcp::{Asking, Serving};
use handfast_scenario::{FlowId, Scenario, Scheme};

use crate::engine::entry::{Key, Machine};
use crate::engine::ids::ConnectionId;
use crate::hosts::connection::{Connection, iss};
use crate::run::layout::{Ends, Layout, Ranks};
use crate::run::network::Network;
use crate::run::places::places_of;

/// Opens both ends of a flow: the client, at the receiving end, opens the connections when it wants them.
pub(crate) fn open(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    layout: &Layout<'_>,
    ends: &Ends,
    ranks: &Ranks,
    (id, kind, seed): (FlowId, Kind, u64),
) {
    let (flow, start) = (&scenario.flows[id], layout.starts[id]);
    let client = kind.client(seed, &flow.name);
    let asker = SharedAsker::new(Asker::new(client, flow.connections as usize, start, flow.stop));
    network.hosts.askers.insert(id, asker.clone());
    let shared = (flow.connections > 1).then(SharedMeter::default);
    network.hosts.shared.extend(shared.clone().map(|shared| (id, shared)));
    for (index, stream) in (0..).zip(layout.streams.of_flow(id)) {
        let pair = network.hosts.connections.next();
        let key = |id: ConnectionId| Key::new(ranks.connections[id.index()], Machine::Connection(id.0));
        let iss = |end: u32| iss(seed, &flow.name, index, end);
        let [there, back] = places_of(network, scenario, layout, ends, id, stream);
        let (tcp, peer_tcp) = (scheme.sender.clone(), scheme.receiver.clone());
        let server = Connection::server(key(pair.sender), there, Serving::new(stream), tcp, iss(0));
        let sink = Sink::new(stream, None);
        let sink = shared.iter().fold(sink, |sink, all| sink.sharing(all.clone()));
        let asking = Asking::new(sink, asker.clone(), index as usize);
        let opens = (index == 0).then_some(start);
        let client = Connection::client(key(pair.receiver), back, asking, opens, peer_tcp, iss(1));
        network.connect(Instant::ZERO, stream, server, client);
    }
}
