//! SDTP's controller: it admits connections between hosts behind edges, sets up their paths, and sends handshakes on
//! (`[sdtp]` §III-A).

mod counted;
mod handshakes;
mod nodes;
mod slice;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use handfast_net::Port;

use super::control::{Instruction, Location, Name, Order, Report};
use super::planned::Plan;
use super::planner::Planner;
pub use counted::Counted;
use slice::{Pair, Slice, pair};

/// A connection that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Admitted {
    slice: u16,
    connection: u16,
    client_edge: IpAddr,
    server_edge: IpAddr,
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
