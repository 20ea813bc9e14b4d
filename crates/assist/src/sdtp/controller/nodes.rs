//! Nodes that begin, end, or are away: what they and the others are told.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::slice::pair;
use super::{Admitted, Controller, Instructions};
use crate::sdtp::control::Order;

impl Controller {
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

    /// A node has begun anew: it gets its functions. If it is an edge it converts nothing, and no other edge must convert for it
    /// either, whoever has admitted the connection.
    pub(super) fn on_start(&mut self, node: IpAddr, out: &mut Instructions) {
        self.tell_functions(node, out);
        self.forget_edge(node);
        for other in self.edges_with(node) {
            // It is told too: what it has admitted since it began is forgotten at both ends.
            self.order([(node, Order::ForgetEdge(other)), (other, Order::ForgetEdge(node))], out);
        }
    }

    /// An edge will end: nothing is admitted for it any more, and no other edge converts for it.
    pub(super) fn on_leaving(&mut self, node: IpAddr, out: &mut Instructions) {
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
}
