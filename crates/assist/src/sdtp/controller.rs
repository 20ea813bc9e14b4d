//! SDTP's controller: it admits connections between hosts behind edges, sets up their paths, and sends handshakes on
//! (`[sdtp]` §III-A).

mod slice;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use handfast_net::Port;
use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Packet};

use super::control::{Admission, Instruction, Location, Name, Order, Report};
use super::planned::Plan;
use super::planner::Planner;
use slice::{Pair, Slice, pair};

/// A connection that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Admitted {
    slice: u16,
    connection: u16,
    client_edge: IpAddr,
    server_edge: IpAddr,
}

/// What it has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packet-ins that came.
    pub packet_ins: u64,
    /// Packet-outs that left.
    pub packet_outs: u64,
    /// Other orders that left.
    pub orders: u64,
    /// Connections admitted.
    pub admitted: u64,
    /// Handshakes sent on as plain TCP: no edge has the host, no path is there, or no number is free.
    pub plain: u64,
    /// Paths set up.
    pub paths: u64,
}

impl Counted {
    /// Each with its name.
    pub fn totals(self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let Self { packet_ins, packet_outs, orders, admitted, plain, paths } = self;
        [
            ("controller_packet_ins", packet_ins),
            ("controller_packet_outs", packet_outs),
            ("controller_orders", orders),
            ("controller_admitted", admitted),
            ("controller_plain", plain),
            ("controller_paths", paths),
        ]
        .into_iter()
    }
}

/// The controller.
#[derive(Debug)]
pub struct Controller {
    planner: Planner,
    /// The edge of each host.
    hosts: BTreeMap<IpAddr, IpAddr>,
    slices: BTreeMap<Pair, Slice>,
    /// Nodes that cannot be told anything now.
    away: BTreeSet<IpAddr>,
    /// What edges that are away are to forget.
    owed: BTreeMap<IpAddr, Vec<Order>>,
    /// The number of the first slice.
    first: u16,
    admitted: BTreeMap<(SocketAddr, SocketAddr), Admitted>,
    by_number: BTreeMap<(Pair, u16), (SocketAddr, SocketAddr)>,
    counted: Counted,
}

/// Instructions, each for the node that has the address.
pub type Instructions = Vec<(IpAddr, Instruction)>;

impl Controller {
    /// One that knows the network.
    pub fn new(planner: Planner, hosts: BTreeMap<IpAddr, IpAddr>) -> Self {
        Self {
            planner,
            hosts,
            slices: BTreeMap::new(),
            away: BTreeSet::new(),
            owed: BTreeMap::new(),
            first: 1,
            admitted: BTreeMap::new(),
            by_number: BTreeMap::new(),
            counted: Counted::default(),
        }
    }

    /// Numbers slices from `first` on. One that begins anew does not know which numbers edges still use: with others than last
    /// time it names no connection as one that lives.
    #[must_use]
    pub fn numbering_from(self, first: u16) -> Self {
        Self { first: first.max(1), ..self }
    }

    /// A node cannot be told anything: it is as if it were not there, until [`Controller::is_back`].
    pub fn is_away(&mut self, node: IpAddr) {
        self.away.insert(node);
    }

    /// A node can be told something: which functions it has, in all slices.
    pub fn is_back(&mut self, node: IpAddr, out: &mut Instructions) {
        self.away.remove(&node);
        let owed = self.owed.remove(&node).unwrap_or_default();
        self.order(owed.into_iter().map(|order| (node, order)), out);
        self.tell_functions(node, out);
    }

    /// What it has counted.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// A node, `from`, has told it something.
    pub fn on_report(&mut self, from: IpAddr, report: Report, out: &mut Instructions) {
        match report {
            Report::Started => self.on_start(from, out),
            Report::Leaving => self.on_leaving(from, out),
            Report::Closed(name) => self.close(from, &name, out),
            Report::PortStatus(port, is_up) => self.on_port_status(from, port, is_up, out),
            Report::Locate(host) => self.locate(from, host, out),
            Report::Handshake(packet) => {
                self.counted.packet_ins += 1;
                self.on_handshake(from, packet, out);
            }
        }
    }

    fn on_handshake(&mut self, from: IpAddr, packet: Packet, out: &mut Instructions) {
        let Body::Tcp(segment) = &packet.body else { return };
        let source = SocketAddr::new(packet.src, segment.src_port);
        let destination = SocketAddr::new(packet.dst, segment.dst_port);
        if segment.flags.contains(Flags::ACK) {
            self.on_syn_ack(from, (destination, source), packet, out);
        } else {
            self.on_syn(from, (source, destination), packet, out);
        }
    }

    /// §III-A step 3: check that there is a path, set one up if there is none, and send the SYN on.
    fn on_syn(
        &mut self,
        from: IpAddr,
        ends: (SocketAddr, SocketAddr),
        packet: Packet,
        out: &mut Instructions,
    ) {
        let is_crossed = self.forget((ends.1, ends.0), None, out);
        // RFC 9293 §3.5, simultaneous open: neither end is the client, so the two-way handshake has no edge to close it at.
        let server_edge = self.hosts.get(&packet.dst).copied().filter(|&edge| edge != from && !is_crossed);
        let server_edge = server_edge.filter(|edge| !self.away.contains(edge));
        let admitted = server_edge.and_then(|server_edge| self.admit(ends, from, server_edge, out));
        let Some(Admitted { slice, connection, client_edge, server_edge }) = admitted else {
            self.counted.plain += 1;
            return self.packet_out(from, None, packet, out);
        };
        let name = Name { peer: client_edge, slice, connection };
        let order = Order::Admit(Admission { name, client: ends.0, server: ends.1 });
        self.packet_out(server_edge, Some(order), packet, out);
    }

    /// §III-A steps 4 and 5: the reverse path, the answer for the client, and the closing ACK for the server.
    fn on_syn_ack(
        &mut self,
        from: IpAddr,
        ends: (SocketAddr, SocketAddr),
        packet: Packet,
        out: &mut Instructions,
    ) {
        // Of one that is unknown, or whose server is elsewhere, nothing is sent on: the client's SYN comes again, and is admitted.
        let Some(&known) = self.admitted.get(&ends).filter(|known| known.server_edge == from) else { return };
        let Admitted { slice, connection, client_edge, server_edge } = known;
        let name = Name { peer: server_edge, slice, connection };
        let admission = Order::Admit(Admission { name, client: ends.0, server: ends.1 });
        self.packet_out(client_edge, Some(admission), packet, out);
        self.counted.orders += 1;
        let name = Name { peer: client_edge, slice, connection };
        out.push((server_edge, Instruction::order(Order::Approve(name))));
    }

    fn packet_out(&mut self, to: IpAddr, order: Option<Order>, packet: Packet, out: &mut Instructions) {
        self.counted.packet_outs += 1;
        out.push((to, Instruction { order, packet: Some(packet) }));
    }

    fn admit(
        &mut self,
        ends: (SocketAddr, SocketAddr),
        client_edge: IpAddr,
        server_edge: IpAddr,
        out: &mut Instructions,
    ) -> Option<Admitted> {
        let known = self.admitted.get(&ends).copied();
        if let Some(known) = known
            && (known.client_edge, known.server_edge) == (client_edge, server_edge)
        {
            return Some(known);
        }
        // A host is behind another edge now.
        self.forget(ends, None, out);
        let pair = pair(client_edge, server_edge);
        self.set_up(pair, out)?;
        let slice = self.slices.get_mut(&pair)?;
        let connection = slice.allot()?;
        let admitted = Admitted { slice: slice.number, connection, client_edge, server_edge };
        self.admitted.insert(ends, admitted);
        self.by_number.insert((pair, connection), ends);
        self.counted.admitted += 1;
        Some(admitted)
    }

    /// "If there is no available path, the controller deploys a new path": the functions of both directions.
    fn set_up(&mut self, pair: Pair, out: &mut Instructions) -> Option<()> {
        if self.slices.contains_key(&pair) {
            return Some(());
        }
        let slice = Slice::new(self.next_number()?, self.plans(pair)?);
        self.order(slice.orders(pair), out);
        self.counted.paths += 1;
        self.slices.insert(pair, slice);
        Some(())
    }

    fn plans(&self, pair: Pair) -> Option<[Plan; 2]> {
        Some([self.planner.plan(pair.0, pair.1)?, self.planner.plan(pair.1, pair.0)?])
    }

    /// A link is gone, or is there again: slices whose best path is another one now get that.
    fn on_port_status(&mut self, node: IpAddr, port: Port, is_up: bool, out: &mut Instructions) {
        if !self.planner.set_link(node, port, is_up) {
            return;
        }
        let pairs: Vec<Pair> = self.slices.keys().copied().collect();
        for pair in pairs {
            let Some(plans) = self.plans(pair) else { continue };
            let Some(slice) = self.slices.get_mut(&pair).filter(|slice| slice.plans != plans) else {
                continue;
            };
            let orders = slice.redirect(pair, plans);
            self.counted.paths += 1;
            self.order(orders, out);
        }
    }

    /// The number of the next slice: all but 0, each once.
    fn next_number(&self) -> Option<u16> {
        let nth = u16::try_from(self.slices.len()).ok().filter(|&nth| nth < u16::MAX)?;
        let number = (u32::from(self.first) - 1 + u32::from(nth)) % u32::from(u16::MAX) + 1;
        u16::try_from(number).ok()
    }

    /// Orders leave. What an edge that is away must forget it is told when it is back: no more than it had admitted, for nothing is
    /// admitted for one that is away.
    fn order(&mut self, orders: impl IntoIterator<Item = (IpAddr, Order)>, out: &mut Instructions) {
        for (address, order) in orders {
            match order {
                // When it comes back it still converts for nobody.
                Order::Forget(_) | Order::ForgetEdge(_) if self.away.contains(&address) => {
                    self.owed.entry(address).or_default().push(order);
                }
                order => {
                    self.counted.orders += 1;
                    out.push((address, Instruction::order(order)));
                }
            }
        }
    }

    /// An edge has packets for a host that no connection has.
    fn locate(&mut self, from: IpAddr, host: IpAddr, out: &mut Instructions) {
        let edge = self.hosts.get(&host).copied().filter(|&edge| edge != from).and_then(|edge| {
            let pair = pair(from, edge);
            self.set_up(pair, out)?;
            Some((edge, self.slices.get(&pair)?.number))
        });
        self.counted.orders += 1;
        out.push((from, Instruction::order(Order::Route(Location { host, edge }))));
    }

    /// A node has begun anew: it gets its functions. If it is an edge it converts nothing, and no other edge must convert for it
    /// either, whoever has admitted the connection.
    fn on_start(&mut self, node: IpAddr, out: &mut Instructions) {
        self.tell_functions(node, out);
        self.forget_edge(node);
        for other in self.edges_with(node) {
            // It is told too: what it has admitted since it began is forgotten at both ends.
            self.order([(node, Order::ForgetEdge(other)), (other, Order::ForgetEdge(node))], out);
        }
    }

    /// An edge will end: nothing is admitted for it any more, and no other edge converts for it.
    fn on_leaving(&mut self, node: IpAddr, out: &mut Instructions) {
        self.forget_edge(node);
        self.is_away(node);
        let released = self.edges_with(node).into_iter().map(|other| (other, Order::Release(node)));
        self.order(released, out);
    }

    /// The edges with a path to a node.
    fn edges_with(&self, node: IpAddr) -> BTreeSet<IpAddr> {
        self.hosts.values().copied().filter(|&other| self.planner.has_path(node, other)).collect()
    }

    /// What was admitted with an edge is over.
    fn forget_edge(&mut self, node: IpAddr) {
        self.admitted.retain(|_, known| {
            let Admitted { slice: _, connection, client_edge, server_edge } = *known;
            let is_of_it = client_edge == node || server_edge == node;
            if is_of_it {
                let pair = pair(client_edge, server_edge);
                self.by_number.remove(&(pair, connection));
                if let Some(slice) = self.slices.get_mut(&pair) {
                    slice.free(connection);
                }
            }
            !is_of_it
        });
    }

    /// Which functions a node has, in all slices.
    fn tell_functions(&mut self, node: IpAddr, out: &mut Instructions) {
        let orders = self.slices.iter().flat_map(|(&pair, slice)| slice.orders(pair));
        let its: Vec<_> = orders.filter(|(address, _)| *address == node).collect();
        self.order(its, out);
    }

    /// An edge has forgotten a connection.
    fn close(&mut self, from: IpAddr, name: &Name, out: &mut Instructions) {
        let pair = pair(from, name.peer);
        let is_its = self.slices.get(&pair).is_some_and(|slice| slice.number == name.slice);
        if let Some(&ends) = self.by_number.get(&(pair, name.connection)).filter(|_| is_its) {
            self.forget(ends, Some(from), out);
        }
    }

    /// A connection is over: its number is free again, after all others, and its edges forget it, `but` the one that has. Whether
    /// it was known.
    fn forget(
        &mut self,
        ends: (SocketAddr, SocketAddr),
        but: Option<IpAddr>,
        out: &mut Instructions,
    ) -> bool {
        let Some(known) = self.admitted.remove(&ends) else { return false };
        let Admitted { slice, connection, client_edge, server_edge } = known;
        let pair = pair(client_edge, server_edge);
        self.by_number.remove(&(pair, connection));
        if let Some(slice) = self.slices.get_mut(&pair) {
            slice.free(connection);
        }
        for (edge, peer) in [(client_edge, server_edge), (server_edge, client_edge)] {
            if Some(edge) != but {
                self.order([(edge, Order::Forget(Name { peer, slice, connection }))], out);
            }
        }
        true
    }
}
