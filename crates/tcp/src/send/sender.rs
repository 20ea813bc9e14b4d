//! The data sender's state: RFC 9293 §3.3.1's send variables, the window, loss recovery.
//!
//! Positions are octets of the send stream as 64-bit numbers that never wrap: 0 is the SYN, 1 the first payload octet, and
//! the FIN follows the last. They become 32-bit sequence numbers where a segment is built.

use std::mem::offset_of;

use handfast_core::{Duration, Instant, SeqNum};

use crate::Config;
use crate::cc::{Control, Controlled, Request, RttSample, Window};
use crate::rtt::RttEstimator;
use crate::send::answers::Answers;
use crate::send::cuts::Cuts;
use crate::send::memory::{self, SendMemory};
use crate::send::progress::Progress;
use crate::send::scoreboard::{DUP_THRESH, Range, Scoreboard};
use crate::send::send_buffer::SendBuffer;
use crate::send::validation::Validation;

/// Everything about the direction in which we send.
// In the order of the fields: see [`crate::Endpoint`].
#[derive(Clone)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) window: Window,
    /// SND.UNA.
    pub(crate) una: u64,
    /// SND.NXT: goes back to SND.UNA after a timeout.
    pub(crate) nxt: u64,
    /// SND.MAX: one past the highest octet ever sent.
    pub(crate) max: u64,
    /// SND.WND in octets, scaled.
    pub(crate) wnd: u64,
    /// The largest SND.WND seen: the peer's buffer, for silly-window avoidance.
    pub(crate) max_wnd: u64,
    /// SND.WL2: the acknowledgement of the segment that last updated the window.
    pub(crate) wl2: u64,
    /// SND.WL1: and that segment.
    pub(crate) wl1: SeqNum,
    pub(crate) iss: SeqNum,
    /// One past the last small segment sent (Minshall; Linux's `snd_sml`).
    pub(crate) small_end: SeqNum,
    /// The application has closed: a FIN follows the data.
    pub(crate) closing: bool,
    /// Timeouts in a row without progress.
    pub(crate) retries: u8,
    /// Zero-window probes in a row.
    pub(crate) probes: u8,
    /// A probe is due.
    pub(crate) probe_due: bool,
    /// What does not fill a segment waits for more (`TCP_CORK`, `MSG_MORE`).
    pub(crate) corked: bool,
    pub(crate) buffer: SendBuffer,
    pub(crate) progress: Progress,
    pub(crate) board: Scoreboard,
    pub(crate) rtt: RttEstimator,
    pub(crate) validation: Validation,
    pub(crate) cc: Control,
    /// The octet of a zero-window probe that the receiver need not have kept.
    pub(crate) probed: Option<u64>,
    /// One segment is timed where timestamps are off: the position that must be acknowledged, and when it left.
    pub(crate) timed: Option<(u64, Instant)>,
    /// `DupThresh` where segments overtake others, until all below this position is acknowledged (RFC 4653).
    pub(crate) patience: Option<(u32, u64)>,
    /// Which marks of congestion it has answered, where ends do ECN.
    pub(crate) answers: Answers,
    /// The memory of the send buffer ([`Config::send_autotuning`]).
    pub(crate) memory: Option<Box<SendMemory>>,
    /// Where segments that are outstanding end, if SACK blocks count whole ones only ([`Config::linux_details`]).
    cuts: Option<Box<Cuts>>,
}

impl Sender {
    /// How many of its first bytes a connection touches that only receives.
    pub(crate) const SHARED: usize = offset_of!(Self, buffer) + SendBuffer::SHARED;

    pub(crate) fn new(config: &Config, iss: SeqNum) -> Self {
        let smss = u64::from(config.mss);
        let mut cc = Control::new(config);
        cc.seed(u64::from(iss.0));
        Self {
            iss,
            una: 0,
            nxt: 0,
            max: 0,
            wnd: 0,
            max_wnd: 0,
            wl1: SeqNum(0),
            wl2: 0,
            small_end: iss,
            buffer: SendBuffer::new(config.keeps_writes),
            closing: false,
            window: Window::new(config, smss),
            cc,
            progress: Progress::default(),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(config),
            timed: None,
            validation: Validation::default(),
            retries: 0,
            probes: 0,
            probe_due: false,
            corked: false,
            probed: None,
            patience: None,
            answers: Answers::default(),
            memory: config.send_autotuning.then(|| {
                Box::new(SendMemory::new(
                    config.send_buffer.get(),
                    memory::windows(config.congestion_control),
                ))
            }),
            cuts: config.linux_details.then(Box::default),
        }
    }

    /// A segment that ends there has left.
    #[inline]
    pub(crate) fn note_cut(&mut self, start: u64, end: u64) {
        if let Some(cuts) = &mut self.cuts {
            cuts.insert(start, end);
        }
    }

    /// SND.UNA has advanced.
    #[inline]
    pub(crate) fn forget_cuts(&mut self) {
        if let Some(cuts) = &mut self.cuts {
            cuts.advance(self.una);
        }
    }

    /// What of a SACK block counts.
    #[inline]
    pub(crate) fn counted(&self, block: Range) -> Option<Range> {
        match &self.cuts {
            Some(cuts) => cuts.whole(block),
            None => Some(block),
        }
    }

    /// Segments that are outstanding (`packets_out`): as they left, where that is known.
    pub(crate) fn segments_out(&self) -> u64 {
        self.segments_between(self.una, self.max)
            .unwrap_or_else(|| (self.max - self.una).div_ceil(self.window.smss))
    }

    /// Segments of the octets `from .. to`; [`None`]: nobody knows.
    pub(crate) fn segments_between(&self, from: u64, to: u64) -> Option<u64> {
        Some(self.cuts.as_ref()?.count(from, to))
    }

    /// Segments that were acknowledged; [`None`]: nobody knows.
    pub(crate) fn segments_acknowledged(&self) -> Option<u64> {
        Some(self.cuts.as_ref()?.acknowledged())
    }

    /// What the last acknowledgement brought, `octets`, each segment as a full one.
    pub(crate) fn in_full_segments(&self, octets: u64) -> u64 {
        self.cuts.as_ref().map_or(octets, |cuts| cuts.newly_acknowledged() * self.window.smss)
    }

    /// What segments that are outstanding lack of full ones, octets: cwnd counts segments in Linux. Zero where nobody knows.
    pub(crate) fn lacking(&self) -> u64 {
        let segments = self.segments_between(self.una, self.max).unwrap_or(0);
        (segments * self.window.smss).saturating_sub(self.max - self.una)
    }

    /// How far the segment at SND.UNA may be joined with those behind it when it goes again: not with the one that left last, which a
    /// device may hold still (Linux's `tcp_can_collapse`, `skb_cloned`).
    pub(crate) fn joins_until(&self) -> u64 {
        let latest = self.cuts.as_ref().map(|cuts| cuts.latest());
        latest.filter(|&start| start > self.una).unwrap_or(u64::MAX)
    }

    /// Where the segment begins that ends at `end`; [`None`]: nobody knows.
    pub(crate) fn last_cut_before(&self, end: u64) -> Option<u64> {
        self.cuts.as_ref()?.last_before(end)
    }

    /// One past the last octet outstanding that left in a segment longer than a full one; where nobody knows, one past all. [`None`]:
    /// there is none.
    pub(crate) fn longest_end(&self) -> Option<u64> {
        let end = match &self.cuts {
            Some(cuts) => cuts.longer(self.una, self.window.smss),
            None => Some(self.max),
        };
        end.filter(|&end| end > self.una)
    }

    /// The handshake has settled the size of segments.
    pub(crate) fn established(&mut self, config: &Config, smss: u64) {
        self.window = Window::new(config, smss);
    }

    /// One past the last payload octet written.
    pub(crate) fn data_end(&self) -> u64 {
        1 + self.buffer.end()
    }

    /// One past the last octet there is to send, the FIN included.
    pub(crate) fn stream_end(&self) -> u64 {
        self.data_end() + u64::from(self.closing)
    }

    /// Whether a segment whose data ends at `end` carries the FIN. The receiver may have SACKed it.
    pub(crate) fn fin_goes_with(&self, end: u64) -> bool {
        self.closing && end == self.data_end() && self.board.holding(end).is_none()
    }

    /// RFC 5681 §2 `FlightSize`. After a timeout what lies beyond SND.NXT counts as lost, not as in flight.
    pub(crate) fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// `DupThresh` of RFC 6675 §2, as it is now.
    pub(crate) fn dup_thresh(&self) -> u32 {
        self.patience.filter(|&(_, until)| self.una < until).map_or(DUP_THRESH, |(dup_thresh, _)| dup_thresh)
    }

    /// The window, for those who ask for another.
    #[inline]
    pub(crate) fn controlled(&mut self) -> Controlled<'_> {
        Controlled { window: &mut self.window, control: &mut self.cc }
    }

    /// Asks the congestion control for another window.
    #[inline]
    pub(crate) fn request(&mut self, request: Request) {
        self.cc.request(&mut self.window, request);
    }

    /// A round-trip time was measured.
    pub(crate) fn measured(&mut self, now: Instant, delay: Duration) {
        let sample = RttSample { now, delay, una: self.una, nxt: self.nxt };
        self.cc.on_rtt(&mut self.window, &sample);
    }

    /// The right edge of the peer's window.
    pub(crate) fn right_edge(&self) -> u64 {
        self.una + self.wnd
    }

    /// The position that a sequence number of the peer's acknowledgement means, nearest to SND.UNA.
    pub(crate) fn position(&self, ack: SeqNum) -> Option<u64> {
        let distance = ack.distance(self.seq(self.una));
        self.una.checked_add_signed(i64::from(distance))
    }

    /// The sequence number of a position.
    pub(crate) fn seq(&self, position: u64) -> SeqNum {
        self.iss + position as u32
    }

    /// The octets outstanding that a reduction goes by. RFC 5681 §3.2 step 2: what limited transmit sent does not count.
    pub(crate) fn flight_for_reduction(&self) -> u64 {
        self.flight_size().saturating_sub(self.progress.limited)
    }

    /// Fast recovery begins: ssthresh falls.
    pub(crate) fn reduce(&mut self) {
        self.reduce_from(self.flight_for_reduction());
    }

    /// The same by so many octets.
    pub(crate) fn reduce_from(&mut self, octets: u64) {
        self.reduce_for(self.una, octets);
    }

    /// The same for the loss of what was sent at `position`. RFC 3168 §6.1.2: marks and losses of one window of data are one indication
    /// of congestion (Linux, `tcp_enter_recovery`: not where `tcp_in_cwnd_reduction`).
    pub(crate) fn reduce_for(&mut self, position: u64, octets: u64) {
        if !self.answers.has_answered(position) {
            self.cc.on_loss(&mut self.window, octets);
            self.answers.on_loss(self.max);
        }
    }

    /// The window falls for a mark, as by a loss of so many octets.
    pub(crate) fn reduce_for_mark(&mut self, octets: u64) {
        self.cc.on_loss(&mut self.window, octets);
        self.answers.on_mark(self.max);
    }

    /// The first octets outstanding go out again, whatever the window says.
    pub(crate) fn retransmit_head(&mut self) {
        self.progress.head_due = true;
        // RFC 6298 §3 (Karn): a retransmitted segment gives no sample.
        self.timed = None;
    }
}
