//! One connection towards a mobile, with its two routines.

use handfast_core::{Instant, SeqNum};
use handfast_wire::tcp::{Flags, SackBlock, Segment};
use handfast_wire::{Body, Packet};

use super::cache::{Cache, Cached, Freed};
use super::config::{Config, Counters};
use super::estimate::Estimate;
use crate::View;

/// What to do with a packet that came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It goes on.
    Pass,
    /// It goes on without its SACK blocks: they tell of holes that are filled here.
    PassWithoutSack,
    /// It ends here.
    Suppress,
}

/// RFC 7323 §2.3: no window is larger.
const LARGEST_WINDOW: u32 = 1 << 30;

/// What is known of a connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    cache: Cache,
    /// The mobile's last acknowledgment, and its number; [`None`]: none was seen.
    acknowledged: Option<(SeqNum, Packet)>,
    /// After the last segment that came from the sender.
    highest: Option<SeqNum>,
    /// So many more duplicate acknowledgments come because of what was on its way when a segment was sent again.
    expected: u32,
    estimate: Estimate,
    /// Since when the local timer runs.
    started: Option<Instant>,
    /// How often it has repeated in a row.
    repetitions: u32,
}

impl Connection {
    /// When the local timer is due.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let wait = self.estimate.timer(config.timer_min) * (1_u64 << self.repetitions.min(16));
        let runs = !self.cache.is_empty() && self.repetitions < config.repetitions;
        self.started.filter(|_| runs).map(|started| started + wait)
    }

    /// `[snoop]` §4.1, `snoop_data`: a segment with payload came from the sender. `out`: an acknowledgment that goes back to it.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        view: &View<'_>,
        segment: &Segment,
        config: &Config,
        counters: &mut Counters,
        out: &mut Vec<Packet>,
    ) -> Outcome {
        let end = segment.seq + segment.seq_len();
        self.forget_if_far(end);
        if let Some((acknowledged, last)) = &self.acknowledged
            && !end.after(*acknowledged)
        {
            // The mobile has it; the acknowledgment was lost on its way back to the sender.
            counters.repeated += 1;
            out.push(last.clone());
            return Outcome::Suppress;
        }
        if self.cache.sent_by_sender(now, segment.seq) {
            // The sender gave up waiting: from here on its duplicate acknowledgments are its own.
            self.expected = 0;
            return Outcome::Pass;
        }
        let in_order = self.highest.is_none_or(|highest| !segment.seq.before(highest));
        if in_order {
            self.highest = Some(end);
        }
        let room = self.cache.bytes() + view.ip_len as u64 <= config.per_connection.get();
        let cached = Cached {
            seq: segment.seq,
            len: segment.seq_len(),
            packet: view.to_packet(),
            ip_len: view.ip_len as u32,
            sent: now,
            resent: false,
            by_sender: !in_order,
            sacked: false,
        };
        if room && self.cache.insert(cached) {
            counters.cached += 1;
            self.started = self.started.or(Some(now));
        } else {
            counters.uncached += 1;
        }
        Outcome::Pass
    }

    /// `[snoop]` §4.1, `snoop_ack`: an acknowledgment came from the mobile. `out`: segments that go to it again.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        view: &View<'_>,
        segment: &Segment,
        config: &Config,
        counters: &mut Counters,
        out: &mut Vec<Packet>,
    ) -> Outcome {
        let ack = segment.ack;
        self.forget_if_far(ack);
        let last = self.acknowledged.as_ref().map(|&(ack, _)| ack);
        let bare = segment.seq_len() == 0;
        if last.is_some_and(|last| ack.before(last)) {
            // What carries data goes on all the same.
            counters.stale += u64::from(bare);
            return if bare { Outcome::Suppress } else { Outcome::Pass };
        }
        if !segment.sack.is_empty() {
            self.cache.sack(segment.sack.as_slice());
        }
        if last != Some(ack) {
            self.advance(now, ack, bare_ack(view, segment));
            self.fill(now, config, counters, out);
            self.expected = self.cache.awaited_before_repair(ack);
            let ours = self.cache.at(ack).is_some_and(|next| !next.by_sender);
            return if ours && !segment.sack.is_empty() { Outcome::PassWithoutSack } else { Outcome::Pass };
        }
        // RFC 5681 §2: no data, and the window of the acknowledgment before it; one that moves is no duplicate, unless SACK says
        // why it came.
        let before = self.acknowledged.replace((ack, bare_ack(view, segment)));
        let same_window = before.is_some_and(|(_, last)| window(&last) == Some(segment.window));
        let carries_more = !same_window && segment.sack.is_empty();
        if !bare || carries_more {
            return Outcome::Pass;
        }
        self.on_duplicate(now, ack, tells_of_duplicate(segment), config, counters, out)
    }

    /// What lies further from the last acknowledgment than any window is of a later time: the connection went on elsewhere
    /// meanwhile. Half the space on, new data would look acknowledged.
    fn forget_if_far(&mut self, seq: SeqNum) {
        if self
            .acknowledged
            .as_ref()
            .is_some_and(|(last, _)| last.distance(seq).unsigned_abs() > LARGEST_WINDOW)
        {
            *self = Self::default();
        }
    }

    /// New data is acknowledged. `bare`: what is sent again where the sender has not heard of it.
    fn advance(&mut self, now: Instant, ack: SeqNum, bare: Packet) {
        // Karn's rule; and what waited behind a hole took longer than a round trip.
        if let Some(Freed { sent, clean: true }) = self.cache.acknowledge(ack) {
            self.estimate.sample(now.since(sent));
        }
        self.acknowledged = Some((ack, bare));
        (self.expected, self.repetitions) = (0, 0);
        self.started = (!self.cache.is_empty()).then_some(now);
    }

    /// `twice`: the mobile has got something twice, which says nothing of what it lacks. Taken for a loss it would be answered
    /// with the first segment, that segment with the next such report, and so on for ever.
    fn on_duplicate(
        &mut self,
        now: Instant,
        ack: SeqNum,
        twice: bool,
        config: &Config,
        counters: &mut Counters,
        out: &mut Vec<Packet>,
    ) -> Outcome {
        let Some(lost) = self.cache.at(ack).filter(|lost| !lost.by_sender) else {
            // Not kept, or lost before it came here: the sender has to know.
            return Outcome::Pass;
        };
        let (before, again) = (lost.sent, lost.resent);
        if again && self.expected > 0 {
            self.expected -= u32::from(!twice);
        } else if !twice {
            // The first of them; or what was on its way explains no more: something that left later has come, and the repair is lost.
            send_again(now, lost, counters, out);
            let behind = self.cache.sent_since(ack, if again { before } else { Instant::ZERO });
            // One for each, and the first of them is here.
            self.expected = behind.saturating_sub(1);
            self.started = Some(now);
        }
        self.fill(now, config, counters, out);
        counters.suppressed += 1;
        Outcome::Suppress
    }

    /// With SACK: what is known to be missing goes again, each hole once, and once more after a local round trip.
    fn fill(&mut self, now: Instant, config: &Config, counters: &mut Counters, out: &mut Vec<Packet>) {
        let wait = self.estimate.timer(config.timer_min);
        for hole in self.cache.holes().filter(|hole| !hole.by_sender) {
            if !hole.resent || now.since(hole.sent) > wait {
                send_again(now, hole, counters, out);
            }
        }
    }

    /// The local timer is due: the first segment goes again.
    pub(super) fn on_timer(
        &mut self,
        now: Instant,
        config: &Config,
        counters: &mut Counters,
        out: &mut Vec<Packet>,
    ) {
        if self.deadline(config).is_none_or(|due| due > now) {
            return;
        }
        self.repetitions += 1;
        self.started = Some(now);
        let Some(seq) = self.cache.first().map(|first| first.seq) else { return };
        self.expected = self.cache.sent_since(seq, Instant::ZERO);
        if let Some(first) = self.cache.at(seq) {
            counters.timed_out += 1;
            (first.sent, first.resent) = (now, true);
            out.push(first.packet.clone());
        }
    }

    /// IP bytes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        self.cache.bytes()
    }
}

fn send_again(now: Instant, cached: &mut Cached, counters: &mut Counters, out: &mut Vec<Packet>) {
    counters.resent += 1;
    (cached.sent, cached.resent) = (now, true);
    out.push(cached.packet.clone());
}

/// What an acknowledgment says when it is repeated: nothing of data, of the connection's end, or of holes that were filled since.
fn bare_ack(view: &View<'_>, segment: &Segment) -> Packet {
    let &Segment { src_port, dst_port, seq, ack, window, urgent, mss, window_scale, sack_permitted, .. } =
        segment;
    view.with_segment(Segment {
        src_port,
        dst_port,
        seq: seq + segment.seq_len(),
        ack,
        flags: Flags::ACK,
        window,
        urgent,
        mss,
        window_scale,
        sack_permitted,
        timestamps: segment.timestamps,
        rare: segment.rare.clone(),
        ..Segment::EMPTY
    })
}

/// A packet without its SACK blocks.
pub(super) fn without_sack(mut packet: Packet) -> Packet {
    if let Body::Tcp(segment) = &mut packet.body {
        segment.sack = handfast_wire::tcp::SackBlocks::NONE;
    }
    packet
}

/// RFC 2883 §4: the first block is below the acknowledgment, or inside the second one.
fn tells_of_duplicate(segment: &Segment) -> bool {
    let inside =
        |one: &SackBlock, other: &SackBlock| !one.start.before(other.start) && !one.end.after(other.end);
    match segment.sack.as_slice() {
        [first, ..] if !first.end.after(segment.ack) => true,
        [first, second, ..] => inside(first, second),
        _ => false,
    }
}

fn window(packet: &Packet) -> Option<u16> {
    match &packet.body {
        Body::Tcp(segment) => Some(segment.window),
        Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => None,
    }
}

/// Whether a segment begins or ends a connection: Snoop starts anew.
pub(super) fn resets(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::RST)
}
