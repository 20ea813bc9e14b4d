//! The caching node (`[sdtp]` §II-B): a switch that keeps a copy of what passes, and sends again what is asked for.
//!
//! Each direction of a connection has a caching buffer ([`Quotas`] bound it). A CN from the node downstream releases what that
//! node has; every 50 ms this node tells the one upstream what has come here. A connection costs no timer: CNs are due in the
//! order in which they were noted, because all wait for the same time.

mod config;
mod connection;
mod key;
mod output;
mod quotas;
mod serve;

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Expected, Information, Notification, Outcome, Request, Stream};

pub use super::cache::{Cacheable, PACKET_COST};
use crate::recent::{Place, Recent};
pub use config::{Config, Congestion, Counters, Quotas};
use connection::Connection;
pub use connection::Passing;
use key::Key;
pub use output::{Output, Repeated, Served};
pub(super) use quotas::{Accounts, Keeper};

/// The caching function of one node, for all connections that pass it.
#[derive(Debug)]
pub struct CachingNode<P> {
    config: Config,
    known: Recent<Connection<P>, Key>,
    /// When connections are to be asked for a CN. An entry holds if it has the connection's time.
    notices: VecDeque<(Instant, Stream)>,
    accounts: Accounts,
    /// What all packets have cost at most.
    most: u64,
    counters: Counters,
}

impl<P: Cacheable> CachingNode<P> {
    /// A node that knows of no connection.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            known: Recent::new(config.connections),
            notices: VecDeque::new(),
            accounts: Accounts::default(),
            most: 0,
            counters: Counters::default(),
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What all packets cost that are kept.
    pub fn cost(&self) -> u64 {
        self.accounts.total()
    }

    /// Connections that it knows.
    pub fn connections(&self) -> usize {
        self.known.len()
    }

    /// What they have cost at most.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Packets of a connection that are kept.
    pub fn packets(&mut self, stream: &Stream) -> usize {
        self.known.find(&Key(*stream)).map_or(0, |place| self.known.get_mut(place).packets())
    }

    /// Data passes, for the first time or as RD. Where nobody downstream will ask, as at the receiving edge, there is no packet:
    /// the node notes what has come, and keeps nothing.
    pub fn on_data(&mut self, now: Instant, stream: &Stream, passing: &Passing, packet: Option<&P>) {
        if passing.len == 0 {
            return;
        }
        let place = self.enter(now, stream, passing);
        let connection = self.known.touch(now, place);
        let was = connection.cost();
        let is_kept = connection.on_data(now, passing, packet);
        self.counters.kept += u64::from(is_kept);
        while connection.cost() > self.config.quotas.per_connection.get() {
            self.counters.overflowed += u64::from(connection.drop_first());
        }
        let (keeper, cost) = (Keeper::of(stream, connection.host), connection.cost());
        self.note(now, stream, place);
        if cost != was && self.accounts.set(&keeper, cost, &self.config.quotas) {
            self.keep_within_quotas(&keeper);
        }
        self.most = self.most.max(self.accounts.total());
    }

    /// Where a connection is, which may begin with this packet.
    fn enter(&mut self, now: Instant, stream: &Stream, passing: &Passing) -> Place {
        if let Some(place) = self.known.find(&Key(*stream)) {
            if !self.known.get_mut(place).is_far(passing.seq) {
                return place;
            }
            // Another connection has the same number.
            self.forget(stream);
        }
        if let Some(Key(silent)) = self.known.in_the_way() {
            self.counters.evicted += 1;
            self.forget(&silent);
        }
        self.known.insert(now, Key(*stream), Connection::new(now, passing))
    }

    fn keep_within_quotas(&mut self, keeper: &Keeper) {
        while let Some(debtor) = self.accounts.debtor(keeper, &self.config.quotas) {
            let Some(place) = self.known.find(&Key(debtor.stream())) else { return };
            let connection = self.known.get_mut(place);
            self.counters.overflowed += u64::from(connection.drop_first());
            self.accounts.set(&debtor, connection.cost(), &self.config.quotas);
        }
    }

    /// RR: sends again what is here (`[sdtp]` §III-C 4).
    pub fn on_request(
        &mut self,
        now: Instant,
        stream: &Stream,
        request: &Request,
        out: &mut Vec<Output<P>>,
    ) -> Served {
        self.counters.requests += 1;
        let served = self.known.find(&Key(*stream)).map_or(Served::None, |place| {
            let connection = self.known.touch(now, place);
            connection.on_request(stream, request, &self.config, &mut self.counters, out)
        });
        self.counters.missed += u64::from(served == Served::None);
        served
    }

    /// CN of the node downstream: releases what that node has.
    pub fn on_notification(&mut self, now: Instant, stream: &Stream, notification: Notification) {
        let Some(place) = self.known.find(&Key(*stream)) else { return };
        let connection = self.known.touch(now, place);
        let released = connection.on_notification(now, notification.until);
        let (keeper, cost) = (Keeper::of(stream, connection.host), connection.cost());
        self.note(now, stream, place);
        if released > 0 {
            self.counters.released += released;
            self.accounts.set(&keeper, cost, &self.config.quotas);
        }
    }

    /// RI of a node upstream: what will not come is not waited for.
    pub fn on_information(&mut self, now: Instant, stream: &Stream, information: &Information) {
        let Expected { start, end: Some(end), .. } = information.expected else { return };
        if information.outcome == Outcome::Never
            && let Some(place) = self.known.find(&Key(*stream))
        {
            self.known.touch(now, place).on_never(now, start, end);
            self.note(now, stream, place);
        }
    }

    /// The node's own queue has dropped a packet that had passed.
    pub fn on_own_drop(&mut self, stream: &Stream, seq: SeqNum, len: u32) {
        self.counters.own_drops += 1;
        if self.config.congestion != Congestion::Mask
            && let Some(place) = self.known.find(&Key(*stream))
        {
            self.known.get_mut(place).on_own_drop(seq, seq + len);
        }
    }

    /// The connection is over.
    pub fn forget(&mut self, stream: &Stream) {
        if let Some(connection) = self.known.remove(&Key(*stream)) {
            self.accounts.set(&Keeper::of(stream, connection.host), 0, &self.config.quotas);
        }
    }

    /// All of them are over. What it has counted stays.
    pub fn clear(&mut self) {
        self.known.clear();
        self.notices.clear();
        self.accounts = Accounts::default();
    }

    /// Notes that a connection may have something to say.
    fn note(&mut self, now: Instant, stream: &Stream, place: Place) {
        let connection = self.known.get_mut(place);
        if connection.due.is_none() && connection.has_news() {
            let due = now + self.config.notify;
            connection.due = Some(due);
            self.notices.push_back((due, *stream));
            self.tidy();
        }
    }

    /// Entries of connections that were forgotten are no more than there may be connections.
    fn tidy(&mut self) {
        if self.notices.len() > 2 * self.config.connections.max(1) {
            let known = &mut self.known;
            self.notices.retain(|(due, stream)| {
                known.find(&Key(*stream)).is_some_and(|place| known.get_mut(place).due == Some(*due))
            });
        }
    }

    /// Sends the CNs that are due, and forgets the connections of which nothing was heard.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Output<P>>) {
        while let Some((due, stream)) = self.notices.front().copied().filter(|(due, _)| *due <= now) {
            self.notices.pop_front();
            self.notify(now, due, &stream, out);
        }
        while self.idle_since().is_some_and(|due| due <= now) {
            let Some((heard, Key(stream))) = self.known.silent_longest() else { return };
            if heard + self.config.idle <= now {
                self.counters.expired += 1;
                self.forget(&stream);
            }
        }
    }

    fn notify(&mut self, now: Instant, due: Instant, stream: &Stream, out: &mut Vec<Output<P>>) {
        let Some(place) = self.known.find(&Key(*stream)) else { return };
        let connection = self.known.get_mut(place);
        if connection.due != Some(due) {
            return;
        }
        connection.due = None;
        if let Some(notification) = connection.notification(now, &self.config) {
            self.counters.notifications += 1;
            out.push(Output::Notification(*stream, notification));
        }
        self.note(now, stream, place);
    }

    fn idle_since(&self) -> Option<Instant> {
        self.known.silent_since().map(|since| since + self.config.idle)
    }

    /// When [`CachingNode::on_timer`] is due: never after there is something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let notice = self.notices.front().map(|(due, _)| *due);
        notice.into_iter().chain(self.idle_since()).min()
    }
}
