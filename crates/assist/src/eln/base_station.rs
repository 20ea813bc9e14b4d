//! The agent: all connections that pass, and the advertisements.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use handfast_core::{Duration, Instant};
use handfast_net::{Cause, Outbox, Port};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Advertisement, Body, Packet};

use super::caches::{Caches, Missing};
use crate::recent::Recent;
use crate::{Agent, ConnectionKey, Verdict, View};

/// Times and bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Between two advertisements; zero: none are sent.
    pub advertisement: Duration,
    /// Connections known at most.
    pub connections: usize,
    /// A connection of which nothing was heard for longer begins anew.
    pub idle: Duration,
    /// Ranges of sequence numbers kept for a connection at most, in each of the two caches; beyond them the first is forgotten.
    pub ranges: usize,
}

impl Default for Config {
    fn default() -> Self {
        // The paper says "at a regular interval"; 100 ms is that of 802.11's beacons.
        Self {
            advertisement: Duration::from_millis(100),
            connections: 10_000,
            idle: Duration::from_secs(60),
            ranges: 1_000,
        }
    }
}

/// What became of marked acknowledgements, and how many advertisements there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Passed as they came: the radio has lost it.
    pub passed: u64,
    /// Unmarked, because the segment was discarded here.
    pub discarded: u64,
    /// Unmarked, because the segment never came here.
    pub unknown: u64,
    /// Notices of a handoff.
    pub handoffs: u64,
    /// Sent by each port that leads to mobiles.
    pub advertisements: u64,
}

/// [eln] at one base station.
#[derive(Debug)]
pub struct BaseStation {
    config: Config,
    address: Ipv4Addr,
    /// The ports that lead to mobiles.
    radio: BTreeSet<Port>,
    /// By the direction towards the mobile.
    known: Recent<Caches>,
    next: Option<Instant>,
    sequence: u16,
    counters: Counters,
}

impl BaseStation {
    /// An agent that knows of no connection; `radio` are the ports that lead to mobiles, and `first` is when it advertises first.
    pub fn new(
        config: Config,
        address: Ipv4Addr,
        radio: impl IntoIterator<Item = Port>,
        first: Instant,
    ) -> Self {
        let next = (config.advertisement > Duration::ZERO).then_some(first);
        let known = Recent::new(config.connections);
        let radio = radio.into_iter().collect();
        Self { config, address, radio, known, next, sequence: 0, counters: Counters::default() }
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// §3.3: a segment goes towards the mobile. Whether it was discarded is known when the queue has refused it.
    fn on_data(&mut self, now: Instant, view: &View<'_>, segment: &Segment) {
        let key = ConnectionKey::of(view, segment);
        if segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::RST) {
            self.known.remove(&key);
        }
        if segment.seq_len() == 0 {
            return;
        }
        self.forget_if_idle(now, &key);
        let place = self.known.find(&key).unwrap_or_else(|| {
            if let Some(silent) = self.known.in_the_way() {
                self.known.remove(&silent);
            }
            self.known.insert(now, key, Caches::default())
        });
        let caches = self.known.touch(now, place);
        caches.sent(segment.seq, segment.seq + segment.seq_len(), self.config.ranges);
    }

    /// §3.5: an acknowledgement comes from the mobile. Whether it goes on as it is.
    fn on_ack(&mut self, now: Instant, view: &View<'_>, segment: &Segment) -> bool {
        if !segment.flags.contains(Flags::ACK) {
            return true;
        }
        let key = ConnectionKey::of(view, segment).reversed();
        self.forget_if_idle(now, &key);
        let known = self.known.find(&key);
        if let Some(known) = known {
            self.known.touch(now, known).acknowledge(segment.ack);
        }
        if !segment.flags.contains(Flags::ELN) {
            // "Else: forward the ACK to the sender."
            return true;
        }
        if !segment.flags.contains(Flags::ELN_LOSS) {
            // "Else if ELN bit == 0: forward the ACK to the TCP sender."
            self.counters.handoffs += 1;
            return true;
        }
        let missing = known.map_or(Missing::Unknown, |known| self.known.get_mut(known).judge(segment));
        let count = match missing {
            // "Pass the ACK to the sender."
            Missing::Sent => &mut self.counters.passed,
            // "Reset ELN flag."
            Missing::Discarded => &mut self.counters.discarded,
            // In neither cache: lost on the way here, where only congestion loses.
            Missing::Unknown => &mut self.counters.unknown,
        };
        *count += 1;
        missing == Missing::Sent
    }

    /// A connection of which nothing was heard for long went on elsewhere.
    fn forget_if_idle(&mut self, now: Instant, key: &ConnectionKey) {
        if self.known.find(key).is_some_and(|known| now.since(self.known.heard(known)) > self.config.idle) {
            self.known.remove(key);
        }
    }

    fn advertise(&mut self, out: &mut Outbox) {
        // RFC 1256 §4.3: an advertisement holds for three intervals.
        let lifetime_ms = self.config.advertisement.as_millis().saturating_mul(3);
        let lifetime_s = u16::try_from(lifetime_ms.div_ceil(1000)).unwrap_or(u16::MAX);
        let advertisement = Advertisement { agent: self.address, lifetime_s, sequence: self.sequence };
        // RFC 5944 §2.1.1: after 65,535 comes 256, so that a restart can be told from that.
        self.sequence = self.sequence.checked_add(1).unwrap_or(256);
        self.counters.advertisements += 1;
        for &port in &self.radio {
            out.send(port, advertisement.packet());
        }
    }
}

impl Agent for BaseStation {
    fn look(&mut self, now: Instant, port: Port, view: &View<'_>, _out: &mut Outbox) -> Verdict {
        // What would fail its checksum is nobody's.
        let Some(segment) = view.intact() else { return Verdict::Pass };
        let goes_on = if self.radio.contains(&port) {
            self.on_ack(now, view, segment)
        } else {
            self.on_data(now, view, segment);
            // §3.4: it is the mobile that marks. What comes from elsewhere nobody has judged.
            !segment.flags.contains(Flags::ELN)
        };
        if goes_on { Verdict::Pass } else { Verdict::Take }
    }

    /// It has taken a marked acknowledgement whose mark goes.
    fn on_packet(&mut self, _now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        out.forward(unmarked(packet));
    }

    /// §3.3: the discard-recording cache is about the base station's own queue, which drops what finds it full and what its
    /// discipline picks. What the radio has given up is a loss of the radio.
    fn on_drop(&mut self, _now: Instant, port: Port, view: &View<'_>, cause: Cause) {
        let by_queue = matches!(cause, Cause::QueueFull | Cause::Aqm);
        let Some(segment) = view.intact().filter(|_| by_queue) else { return };
        if !self.radio.contains(&port) {
            return;
        }
        if let Some(known) = self.known.find(&ConnectionKey::of(view, segment)) {
            let caches = self.known.get_mut(known);
            caches.discarded(segment.seq, segment.seq + segment.seq_len(), self.config.ranges);
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        let Some(due) = self.next.filter(|&due| due <= now) else { return };
        self.advertise(out);
        // A driver that was late has missed some: they are not made up for.
        let missed = now.since(due).as_nanos() / self.config.advertisement.as_nanos();
        self.next = Some(due + self.config.advertisement * (missed + 1));
    }

    fn deadline(&self) -> Option<Instant> {
        self.next
    }
}

fn unmarked(mut packet: Packet) -> Packet {
    if let Body::Tcp(segment) = &mut packet.body {
        segment.flags = segment.flags.without(Flags::ELN | Flags::ELN_LOSS);
    }
    packet
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use handfast_core::SeqNum;
    use handfast_net::Forward;
    use handfast_wire::Payload;
    use handfast_wire::tcp::{SackBlock, SackBlocks};

    use super::*;

    const STATION: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
    const SENDER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);
    const WIRED: Port = Port(0);
    const RADIO: Port = Port(1);
    const MARKED: Flags = Flags(Flags::ACK.0 | Flags::ELN.0 | Flags::ELN_LOSS.0);
    const HANDOFF: Flags = Flags(Flags::ACK.0 | Flags::ELN.0);
    /// Segments have 1,000 octets and are numbered from here.
    const ISN: SeqNum = SeqNum(u32::MAX - 2_500);

    fn agent() -> BaseStation {
        BaseStation::new(Config::default(), ADDRESS, [RADIO], Instant::from_millis(30))
    }

    fn data(number: u32) -> Packet {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 1_000 };
        let seq = ISN + 1_000 * number;
        let segment = Segment { src_port: 1, dst_port: 2, seq, flags: Flags::ACK, payload, ..Segment::EMPTY };
        Packet::tcp(SENDER, STATION, segment)
    }

    fn ack(number: u32, flags: Flags, sacks: &[(u32, u32)]) -> Packet {
        let mut sack = SackBlocks::NONE;
        for &(start, end) in sacks {
            sack.push(SackBlock { start: ISN + 1_000 * start, end: ISN + 1_000 * end });
        }
        let ack = ISN + 1_000 * number;
        Packet::tcp(STATION, SENDER, Segment { src_port: 2, dst_port: 1, ack, flags, sack, ..Segment::EMPTY })
    }

    impl BaseStation {
        fn pass(&mut self, port: Port, packet: Packet) -> Packet {
            self.pass_at(Instant::from_millis(1), port, packet)
        }

        fn pass_at(&mut self, now: Instant, port: Port, packet: Packet) -> Packet {
            let mut out = Outbox::default();
            match self.look(now, port, &View::of(&packet), &mut out) {
                Verdict::Take => self.on_packet(now, port, packet, &mut out),
                Verdict::Pass => out.forward(packet),
                Verdict::Drop => panic!("it drops nothing"),
            }
            let left: Vec<_> = out.drain().collect();
            let [Forward::Routed(packet)] = &left[..] else { panic!("{left:?}") };
            packet.clone()
        }

        /// The queue to a port has refused a packet.
        fn discards(&mut self, port: Port, packet: &Packet) {
            self.on_drop(Instant::from_millis(1), port, &View::of(packet), Cause::QueueFull);
        }

        fn send(&mut self, numbers: std::ops::Range<u32>) {
            for number in numbers {
                assert_eq!(self.pass(WIRED, data(number)), data(number));
            }
        }

        /// The flags with which an acknowledgement leaves.
        fn flags(&mut self, ack: Packet) -> Flags {
            let Body::Tcp(segment) = self.pass(RADIO, ack).body else { panic!() };
            segment.flags
        }
    }

    #[test]
    fn what_the_radio_has_lost_stays_marked() {
        // §3.5: "if there is the SN of ACK at cache of BS: pass the ACK to the sender".
        let mut agent = agent();
        agent.send(0..4);
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), MARKED);
        assert_eq!(agent.counters(), Counters { passed: 1, ..Counters::default() });
    }

    #[test]
    fn what_the_radio_gives_up_stays_marked() {
        let mut agent = agent();
        agent.send(0..4);
        agent.on_drop(Instant::from_millis(1), RADIO, &View::of(&data(1)), Cause::Loss);
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), MARKED);
    }

    #[test]
    fn what_was_discarded_here_loses_its_mark() {
        // §3.3 and §3.5: "else if the ACK's SN exists at discard-recording cache: reset ELN flag".
        let mut agent = agent();
        agent.send(0..4);
        agent.discards(RADIO, &data(1));
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), Flags::ACK);
        // A retransmission that goes through deletes the entry.
        agent.send(1..2);
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 4)])), MARKED);
        assert_eq!(agent.counters(), Counters { passed: 1, discarded: 1, ..Counters::default() });
    }

    #[test]
    fn what_the_queue_discipline_dropped_here_loses_its_mark() {
        // §3.3: CoDel drops from this queue too; the radio never had the segment.
        let mut agent = agent();
        agent.send(0..4);
        agent.on_drop(Instant::from_millis(1), RADIO, &View::of(&data(1)), Cause::Aqm);
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), Flags::ACK);
        assert_eq!(agent.counters(), Counters { discarded: 1, ..Counters::default() });
    }

    #[test]
    fn what_never_came_here_loses_its_mark() {
        let mut agent = agent();
        agent.send(0..1);
        agent.send(2..4);
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), Flags::ACK);
        let mut other = ack(1, MARKED, &[]);
        other.src = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 77));
        assert_eq!(agent.flags(other), Flags::ACK, "nor does it know this connection");
        assert_eq!(agent.counters(), Counters { unknown: 2, ..Counters::default() });
    }

    #[test]
    fn all_holes_that_sack_shows_count() {
        let mut agent = agent();
        agent.send(0..8);
        agent.discards(RADIO, &data(4));
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 4)])), MARKED, "the discarded one is not shown yet");
        assert_eq!(agent.flags(ack(1, MARKED, &[(5, 6), (2, 4)])), Flags::ACK);
        assert_eq!(agent.flags(ack(5, MARKED, &[(6, 7), (3, 4)])), MARKED, "a D-SACK shows none");
    }

    #[test]
    fn without_sack_the_octet_asked_for_counts() {
        let mut agent = agent();
        agent.send(0..2);
        assert_eq!(agent.flags(ack(1, MARKED, &[])), MARKED);
        assert_eq!(agent.flags(ack(2, MARKED, &[])), Flags::ACK);
    }

    #[test]
    fn a_handoff_notice_and_plain_acknowledgements_pass() {
        // §3.5: "else if ELN bit == 0: forward the ACK to the TCP sender; else: forward the ACK to the sender".
        let mut agent = agent();
        assert_eq!(agent.flags(ack(1, HANDOFF, &[(2, 3)])), HANDOFF);
        assert_eq!(agent.flags(ack(1, Flags::ACK, &[(2, 3)])), Flags::ACK);
        assert_eq!(agent.counters(), Counters { handoffs: 1, ..Counters::default() });
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut agent = agent();
        agent.send(0..4);
        assert_eq!(agent.flags(ack(3, Flags::ACK, &[])), Flags::ACK);
        assert_eq!(agent.flags(ack(2, MARKED, &[])), Flags::ACK, "an old one finds nothing");
        assert_eq!(agent.flags(ack(3, MARKED, &[])), MARKED);
    }

    #[test]
    fn a_new_connection_with_the_same_ports_knows_nothing_of_the_old_one() {
        for flag in [Flags::SYN, Flags::RST] {
            let mut agent = agent();
            agent.send(0..4);
            let mut packet = data(9);
            let Body::Tcp(segment) = &mut packet.body else { panic!() };
            segment.flags = flag;
            segment.payload = Payload::EMPTY;
            agent.pass(WIRED, packet);
            assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), Flags::ACK, "{flag:?}");
        }
    }

    #[test]
    fn what_a_checksum_would_refuse_is_nobodys() {
        let mut agent = agent();
        agent.send(0..1);
        agent.discards(WIRED, &data(0));
        agent.discards(RADIO, &Packet { corrupted: true, ..data(0) });
        assert_eq!(agent.flags(ack(0, MARKED, &[])), MARKED, "nor what is discarded elsewhere");
        agent.pass(WIRED, Packet { corrupted: true, ..data(1) });
        assert_eq!(agent.flags(ack(1, MARKED, &[(2, 3)])), Flags::ACK, "it was not recorded");
        let acked = Packet { corrupted: true, ..ack(0, MARKED, &[(1, 2)]) };
        assert_eq!(agent.flags(acked), MARKED);
    }

    #[test]
    fn nobody_but_a_mobile_marks() {
        let mut agent = agent();
        agent.send(0..4);
        for flags in [MARKED, HANDOFF] {
            let Body::Tcp(segment) = agent.pass(WIRED, ack(1, flags, &[(2, 3)])).body else { panic!() };
            assert_eq!(segment.flags, Flags::ACK);
        }
    }

    #[test]
    fn a_connection_that_went_on_elsewhere_begins_anew() {
        // Back after more than half of the sequence space, or after a minute.
        let mut agent = agent();
        agent.send(0..4);
        agent.send(2_000_000..2_000_001);
        assert_eq!(agent.flags(ack(2_000_000, MARKED, &[])), MARKED);
        assert_eq!(agent.flags(ack(0, MARKED, &[])), Flags::ACK);
        let later = Instant::from_millis(70_000);
        let left = agent.pass_at(later, RADIO, ack(2_000_000, MARKED, &[]));
        assert_eq!(left, ack(2_000_000, Flags::ACK, &[]));
    }

    #[test]
    fn connections_are_bounded() {
        let config = Config { connections: 2, ..Config::default() };
        let mut agent = BaseStation::new(config, ADDRESS, [RADIO], Instant::ZERO);
        for port in 10..13 {
            let mut packet = data(0);
            let Body::Tcp(segment) = &mut packet.body else { panic!() };
            segment.src_port = port;
            agent.pass_at(Instant::from_millis(u64::from(port)), WIRED, packet);
        }
        let flags = [10, 11, 12].map(|port| {
            let mut packet = ack(0, MARKED, &[]);
            let Body::Tcp(segment) = &mut packet.body else { panic!() };
            segment.dst_port = port;
            agent.flags(packet)
        });
        assert_eq!(flags, [Flags::ACK, MARKED, MARKED], "who was silent longest is forgotten");
    }

    #[test]
    fn a_late_driver_makes_up_for_nothing() {
        let mut agent = agent();
        let mut out = Outbox::default();
        agent.on_timer(Instant::from_millis(450), &mut out);
        assert_eq!((out.drain().count(), agent.counters().advertisements), (1, 1));
        assert_eq!(agent.deadline(), Some(Instant::from_millis(530)));
    }

    #[test]
    fn it_advertises_at_a_regular_interval() {
        // §3.2
        let mut agent = agent();
        let mut out = Outbox::default();
        for (ms, sequence) in [(30, 0), (130, 1), (230, 2)] {
            assert_eq!(agent.deadline(), Some(Instant::from_millis(ms)));
            agent.on_timer(Instant::from_millis(ms), &mut out);
            let left: Vec<_> = out.drain().collect();
            let [Forward::To(RADIO, packet)] = &left[..] else { panic!("{left:?}") };
            let expected = Advertisement { agent: ADDRESS, lifetime_s: 1, sequence };
            assert_eq!(Advertisement::parse(packet), Some(expected));
        }
        agent.sequence = u16::MAX;
        agent.on_timer(Instant::from_millis(330), &mut out);
        assert_eq!(agent.sequence, 256, "RFC 5944 §2.1.1");
        let config = Config { advertisement: Duration::ZERO, ..Config::default() };
        assert_eq!(BaseStation::new(config, ADDRESS, [RADIO], Instant::ZERO).deadline(), None);
    }
}
