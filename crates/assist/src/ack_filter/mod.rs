//! ACK filtering at a base station (RFC 3449 §6.2.1): of several acknowledgments from a mobile the last one says it all, and the
//! others end here.
//!
//! An acknowledgment waits for the next one for a short time; in a queue, as in CAKE's `ack-filter`, it would wait for its turn.

mod spec;

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::{Outbox, Port};
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, Segment};

use crate::{Agent, ConnectionKey, LinkEvent, Verdict, View};

pub use spec::AckFilterSpec;

/// How much is filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// So many acknowledgments of a connection end here in a row, at most.
    pub most: u32,
    /// How long one waits for the next.
    pub wait: Duration,
    /// Connections of which one waits, at most; those of others pass.
    pub connections: usize,
}

impl Default for Config {
    fn default() -> Self {
        // RFC 3449 §6.2.1 leaves open how many; with each second segment acknowledged, three of four gone leave one for eight.
        Self { most: 3, wait: Duration::from_millis(5), connections: 10_000 }
    }
}

/// An acknowledgment that waits.
#[derive(Debug)]
struct Waiting {
    packet: Packet,
    ack: SeqNum,
    /// How many ended here since one went on.
    ended: u32,
    until: Instant,
    port: Port,
}

/// ACK filtering at one base station.
#[derive(Debug)]
pub struct AckFilter {
    config: Config,
    /// The ports that lead to mobiles.
    radio: BTreeSet<Port>,
    waiting: BTreeMap<ConnectionKey, Waiting>,
    timers: BTreeSet<(Instant, ConnectionKey)>,
    /// How many acknowledgments of the one that it takes ended before it.
    ended: u32,
}

impl AckFilter {
    /// A filter in which nothing waits; `radio` are the ports that lead to mobiles.
    pub fn new(config: Config, radio: impl IntoIterator<Item = Port>) -> Self {
        Self {
            config,
            radio: radio.into_iter().collect(),
            waiting: BTreeMap::new(),
            timers: BTreeSet::new(),
            ended: 0,
        }
    }

    fn take(&mut self, key: ConnectionKey) -> Option<Waiting> {
        let waiting = self.waiting.remove(&key)?;
        self.timers.remove(&(waiting.until, key));
        Some(waiting)
    }
}

/// Whether it says nothing but what is acknowledged and what fits the window.
fn is_pure(segment: &Segment) -> bool {
    segment.flags == Flags::ACK
        && segment.payload.is_empty()
        && segment.sack.is_empty()
        && segment.rare.is_none()
}

impl Agent for AckFilter {
    fn look(&mut self, _now: Instant, port: Port, view: &View<'_>, out: &mut Outbox) -> Verdict {
        let Some(segment) = view.intact().filter(|_| self.radio.contains(&port)) else {
            return Verdict::Pass;
        };
        let key = ConnectionKey::of(view, segment);
        let pure = is_pure(segment);
        self.ended = match self.take(key) {
            // A duplicate tells of a loss: it and the one before go on.
            Some(before) if !pure || !segment.ack.after(before.ack) => {
                out.forward(before.packet);
                return Verdict::Pass;
            }
            Some(before) => {
                out.discard(before.packet);
                before.ended + 1
            }
            None => 0,
        };
        let waits = pure && self.ended < self.config.most && self.waiting.len() < self.config.connections;
        if waits { Verdict::Take } else { Verdict::Pass }
    }

    fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        let view = View::of(&packet);
        let Some(segment) = view.tcp else { return out.forward(packet) };
        let (key, ack) = (ConnectionKey::of(&view, segment), segment.ack);
        let until = now + self.config.wait;
        self.timers.insert((until, key));
        self.waiting.insert(key, Waiting { packet, ack, ended: self.ended, until, port });
    }

    /// A mobile that has left sends no more by this port.
    fn on_link_event(&mut self, _now: Instant, port: Port, event: LinkEvent, out: &mut Outbox) {
        if event == LinkEvent::Down {
            let left = self.waiting.iter().filter(|(_, waiting)| waiting.port == port);
            let left: Vec<_> = left.map(|(&key, _)| key).collect();
            left.into_iter().filter_map(|key| self.take(key)).for_each(|waiting| out.forward(waiting.packet));
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        while let Some(&(_, key)) = self.timers.first().filter(|(until, _)| *until <= now) {
            let Some(waiting) = self.take(key) else { return };
            out.forward(waiting.packet);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(until, _)| until)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use handfast_net::Forward;
    use handfast_wire::tcp::{SackBlock, SackBlocks};

    use super::*;

    const RADIO: Port = Port(1);

    fn ack(number: u32) -> Packet {
        let [src, dst] = [9, 1].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
        Packet::tcp(src, dst, Segment { ack: SeqNum(number), flags: Flags::ACK, ..Segment::EMPTY })
    }

    fn number(packet: &Packet) -> u32 {
        View::of(packet).tcp.unwrap().ack.0
    }

    /// The acknowledgments that leave.
    fn left(out: &mut Outbox) -> Vec<u32> {
        let left = out.drain().filter_map(|forward| match forward {
            Forward::Routed(packet) => Some(number(&packet)),
            _ => None,
        });
        left.collect()
    }

    fn pass(filter: &mut AckFilter, ms: u64, port: Port, packet: Packet) -> Vec<u32> {
        let (now, mut out) = (Instant::from_millis(ms), Outbox::default());
        match filter.look(now, port, &View::of(&packet), &mut out) {
            Verdict::Take => filter.on_packet(now, port, packet, &mut out),
            Verdict::Pass => out.forward(packet),
            Verdict::Drop => {}
        }
        left(&mut out)
    }

    fn filter() -> AckFilter {
        AckFilter::new(Config::default(), [RADIO])
    }

    #[test]
    fn of_four_the_last_goes_on() {
        let mut filter = filter();
        for round in 0..2 {
            let mut acks = (1..5).map(|n| pass(&mut filter, n, RADIO, ack(round * 4 + n as u32)));
            let went: Vec<_> = acks.by_ref().flatten().collect();
            assert_eq!(went, [round * 4 + 4]);
        }
        assert_eq!(filter.deadline(), None);
    }

    #[test]
    fn the_last_waits_for_a_short_time_only() {
        let mut filter = filter();
        assert!(pass(&mut filter, 1, RADIO, ack(1)).is_empty());
        assert!(pass(&mut filter, 3, RADIO, ack(2)).is_empty());
        assert_eq!(filter.deadline(), Some(Instant::from_millis(8)));
        let mut out = Outbox::default();
        filter.on_timer(Instant::from_millis(8), &mut out);
        assert_eq!((left(&mut out), filter.deadline()), (vec![2], None));
    }

    #[test]
    fn what_tells_of_a_loss_goes_on_and_the_one_before_it() {
        let mut sacked = ack(3);
        let handfast_wire::Body::Tcp(segment) = &mut sacked.body else { panic!() };
        segment.sack = SackBlocks::NONE;
        segment.sack.push(SackBlock { start: SeqNum(5), end: SeqNum(6) });
        for packet in [ack(2), sacked] {
            let mut filter = filter();
            assert!(pass(&mut filter, 1, RADIO, ack(2)).is_empty());
            assert_eq!(pass(&mut filter, 2, RADIO, packet.clone()), [2, number(&packet)]);
            assert_eq!(filter.deadline(), None);
        }
    }

    #[test]
    fn other_directions_and_a_broken_checksum_pass() {
        let mut filter = filter();
        assert_eq!(pass(&mut filter, 1, Port(0), ack(1)), [1]);
        assert_eq!(pass(&mut filter, 1, RADIO, Packet { corrupted: true, ..ack(1) }), [1]);
    }

    #[test]
    fn when_the_mobile_leaves_what_waits_goes_on() {
        let mut filter = filter();
        pass(&mut filter, 1, RADIO, ack(1));
        let mut out = Outbox::default();
        for (port, event, went) in [
            (Port(2), LinkEvent::Down, vec![]),
            (RADIO, LinkEvent::Up, vec![]),
            (RADIO, LinkEvent::Down, vec![1]),
        ] {
            filter.on_link_event(Instant::from_millis(2), port, event, &mut out);
            assert_eq!(left(&mut out), went, "{port:?} {event:?}");
        }
        assert_eq!(filter.deadline(), None);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut filter = AckFilter::new(Config { connections: 0, ..Config::default() }, [RADIO]);
        assert_eq!(pass(&mut filter, 1, RADIO, ack(1)), [1]);
    }
}
