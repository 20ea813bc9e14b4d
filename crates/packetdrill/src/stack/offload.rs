//! Which segments have PSH because they are the last of several that left as one (Linux: `__tcp_transmit_skb` pushes what
//! segmentation offload cuts, "to expedite GRO flush at receiver"; `tcp_tso_autosize` and `tcp_cwnd_test` say how many that are).

use handfast_core::{Duration, Instant, SeqNum};
use handfast_tcp::{Endpoint, Report};
use handfast_wire::tcp::{Flags, Segment};

use super::send_queue::SendQueue;
use crate::Settings;

/// `tcp_min_tso_segs` by default.
const LEAST_SEGMENTS: u64 = 2;
/// `sk_pacing_shift`: about a millisecond's worth.
const PACING_SHIFT: u32 = 10;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio` by default, percent.
const RATIOS: (u64, u64) = (200, 120);
/// `GSO_MAX_SIZE`
const MOST_OCTETS: u64 = 65_536;

/// The packet that is being made.
#[derive(Clone, Debug)]
pub(super) struct Offload {
    least: u64,
    ratios: (u64, u64),
    /// When its last segment left, where that ended, and how many it has.
    at: Instant,
    end: SeqNum,
    segments: u64,
    /// Octets of its first segment and of its last.
    lengths: (usize, usize),
    /// They leave for the first time.
    fresh: bool,
    /// Something has happened since.
    anew: bool,
    /// Each segment leaves by itself: `tcp_write_xmit` joins none while there is urgent data.
    alone: bool,
    /// How many it may have.
    most: u64,
}

impl Offload {
    pub(super) fn new(settings: &Settings) -> Self {
        let ratios = (settings.pacing_ss_ratio, settings.pacing_ca_ratio);
        Self {
            least: settings.min_tso_segs.unwrap_or(LEAST_SEGMENTS).max(1),
            ratios: (ratios.0.unwrap_or(RATIOS.0), ratios.1.unwrap_or(RATIOS.1)),
            at: Instant::ZERO,
            end: SeqNum(0),
            segments: 0,
            lengths: (0, 0),
            fresh: true,
            anew: true,
            alone: false,
            most: 0,
        }
    }

    /// How many segments leave as one now. `tcp_cwnd_test`: "ensure we have at least 2 GSO packets in flight".
    pub(super) fn segments_at_once(&self, report: &Report, smss: u64) -> usize {
        let half = (report.cwnd / 2).max(1);
        self.autosize(report, smss).min(half) as usize
    }

    /// `tcp_tso_autosize`
    fn autosize(&self, report: &Report, smss: u64) -> u64 {
        let octets = (self.rate(report, smss) >> PACING_SHIFT).min(MOST_OCTETS);
        (octets / smss).max(self.least)
    }

    /// `tcp_update_pacing_rate`: octets a second.
    pub(super) fn rate(&self, report: &Report, smss: u64) -> u64 {
        let in_slow_start = report.ssthresh.is_none_or(|ssthresh| report.cwnd < ssthresh / 2);
        let ratio = if in_slow_start { self.ratios.0 } else { self.ratios.1 };
        let srtt = if report.srtt == Duration::ZERO { Duration::from_millis(1) } else { report.srtt };
        let window = u128::from(report.cwnd.max(report.unacked) * smss * ratio / 100);
        let rate = window * 1_000_000_000 / u128::from(srtt.as_nanos().max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// Something has happened, and what follows from it leaves. `alone`: each segment by itself.
    pub(super) fn begin(&mut self, alone: bool) {
        self.anew = true;
        self.alone = alone;
    }

    /// Sets PSH of a segment that leaves as the kernel does. Whether it is of one packet with the segment before, which has PSH no more.
    pub(super) fn mark(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        tcp: &Endpoint,
        report: &Report,
        smss: u64,
        queue: &mut SendQueue,
    ) -> bool {
        if segment.payload.is_empty() {
            self.segments = 0;
            return false;
        }
        let Some(start) = tcp.send_position(segment.seq) else { return false };
        let end = start + segment.payload.len() as u64;
        let (_, _, max) = tcp.send_positions();
        let fresh = end + u64::from(segment.flags.contains(Flags::FIN)) >= max;
        // What goes again for another reason is another packet.
        let anew = std::mem::take(&mut self.anew);
        let len = segment.payload.len();
        // All but the last are alike, and a probe of the path's MTU is alone.
        let alike =
            self.lengths.0 as u64 <= smss && self.lengths.0 == self.lengths.1 && len <= self.lengths.0;
        let again = !anew && !queue.begins.contains(&start);
        let same = !self.alone && self.fresh == fresh && (fresh || again) && alike;
        let goes_on = same && self.at == now && self.end == segment.seq && self.segments < self.most;
        if goes_on && self.segments > 0 {
            self.segments += 1;
            self.lengths.1 = len;
        } else {
            self.lengths = (len, len);
            self.segments = 1;
            self.fresh = fresh;
            self.most = self.segments_at_once(report, smss) as u64;
            if fresh {
                queue.begins.insert(start);
            }
        }
        self.at = now;
        self.end = segment.seq + segment.payload.len() as u32;
        // `tcp_write_wakeup` pushes what probes a window.
        let probes = report.probes > 0 && segment.flags.contains(Flags::PSH);
        segment.flags = segment.flags.without(Flags::PSH);
        if self.segments > 1 || probes || queue.is_pushed(end) {
            segment.flags = segment.flags | Flags::PSH;
        }
        self.segments > 1
    }
}
