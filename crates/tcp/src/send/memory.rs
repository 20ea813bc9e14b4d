//! The memory that a send buffer takes, and how it grows, as in Linux: `sk_wmem_queued` below `sk_sndbuf` (`tcp_sndbuf_expand`,
//! `tcp_new_space`, `sk_stream_is_writeable`).
//!
//! An application that always has more sleeps until a third is free, and may find that everything has left meanwhile: then what was
//! sent last was limited by the application, not by the path (`tcp_rate_check_app_limited`).

use handfast_core::{Duration, Instant};

use crate::CongestionControl;
use crate::cc::Window;
use crate::send::scoreboard::Scoreboard;

/// `MAX_TCP_HEADER`, octets.
const MAX_HEADER: u64 = 256;
/// `struct skb_shared_info` and `struct sk_buff`, aligned.
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
/// What a buffer of several segments takes besides its octets: `SKB_TRUESIZE(MAX_TCP_HEADER)`. Measured: `ss -m` has 832 more for
/// each.
const OVERHEAD: u64 = MAX_HEADER + SHARED_INFO + SK_BUFF;
/// `TCP_INIT_CWND`
const LEAST_SEGMENTS: u64 = 10;
/// `GSO_MAX_SIZE` without a segment's headers (`GSO_LEGACY_MAX_SIZE`).
const MOST_OCTETS: u64 = 65_536 - 1 - 320;
/// `sk_pacing_shift`: a millisecond's worth.
const PACING_SHIFT: u32 = 10;

/// The sender as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Octets that are outstanding, and that have not left.
    pub(crate) sent: u64,
    pub(crate) unsent: u64,
    /// The congestion window lets nothing more leave.
    pub(crate) is_full: bool,
    pub(crate) cwnd: u64,
    pub(crate) smss: u64,
    /// Half of the largest window that the peer has offered.
    pub(crate) half_window: u64,
}

impl Load {
    /// `tcp_xmit_size_goal`: the octets of a full buffer.
    fn goal(&self) -> u64 {
        (MOST_OCTETS.min(self.half_window.max(1)) / self.smss).max(1) * self.smss
    }

    /// `sk_wmem_queued` where what is outstanding takes so many buffers.
    fn queued(&self, buffers: u64) -> u64 {
        self.sent + self.unsent + (buffers + self.unsent.div_ceil(self.goal())) * OVERHEAD
    }
}

/// The buffers of what is outstanding above `una`. What left at one moment, up to `ends`, is one of at most `together` octets
/// (`tcp_write_xmit`). It falls apart where only a part of it is SACKed (`tcp_match_skb_to_sack`), and what is SACKed becomes one
/// (`tcp_shift_skb_data`).
pub(crate) fn buffers(una: u64, ends: impl Iterator<Item = u64>, board: &Scoreboard, together: u64) -> u64 {
    let mut sacked = board.ranges().peekable();
    let mut at = una;
    let mut count = board.len() as u64;
    for end in ends {
        while at < end {
            while sacked.next_if(|range| range.end <= at).is_some() {}
            at = match sacked.peek() {
                Some(range) if range.start <= at => range.end,
                next => {
                    let until = next.map_or(end, |range| range.start.min(end));
                    count += (until - at).div_ceil(together);
                    until
                }
            };
        }
    }
    count
}

/// The send buffer of a connection.
#[derive(Clone, Debug)]
pub(crate) struct SendMemory {
    /// `tcp_wmem[2]`
    most: u64,
    /// `sndbuf_expand` of the congestion control: windows that it holds.
    windows: u64,
    /// `sk_sndbuf`
    limit: u64,
    /// When the application was last woken.
    woken: Instant,
}

impl SendMemory {
    /// `windows`: [`windows`].
    pub(crate) fn new(most: u64, windows: u64) -> Self {
        Self { most, windows, limit: 0, woken: Instant::MAX }
    }

    /// `tcp_sndbuf_expand`
    fn expand(&mut self, load: &Load, mss: u64) {
        let segment = (mss + MAX_HEADER + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let segments = (load.cwnd / load.smss).max(LEAST_SEGMENTS);
        self.limit = self.limit.max(self.windows * segments * segment).min(self.most);
    }

    /// Whether an application writes that always has more. It sleeps until it is woken, and then writes as long as that takes no time.
    /// `buffers`: those of what is outstanding, asked for only where they decide.
    pub(crate) fn is_writable(
        &mut self,
        now: Instant,
        load: &Load,
        mss: u64,
        buffers: impl FnOnce() -> u64,
    ) -> bool {
        if self.woken == now {
            // `sk_stream_memory_free`, which `tcp_sendmsg_locked` asks for a new buffer: what has partly left is filled up without.
            return load.unsent > 0 || self.holds(load, buffers, |limit, queued| queued < limit);
        }
        // `tcp_init_buffer_space`; `tcp_should_expand_sndbuf`: "If we filled the congestion window, do not expand."
        if self.limit == 0 || !load.is_full {
            self.expand(load, mss);
        }
        // `sk_stream_is_writeable`: a third is free.
        let wakes = self.holds(load, buffers, |limit, queued| limit.saturating_sub(queued) >= queued / 2);
        if wakes {
            self.woken = now;
        }
        wakes
    }

    /// Whether something holds of the limit and what is queued that holds of less, too.
    fn holds(&self, load: &Load, buffers: impl FnOnce() -> u64, rule: impl Fn(u64, u64) -> bool) -> bool {
        let most = load.sent.div_ceil(load.smss) + 1;
        rule(self.limit, load.queued(most)) || rule(self.limit, load.queued(buffers()))
    }
}

/// `sndbuf_expand`: the windows that the send buffer holds.
pub(crate) const fn windows(control: CongestionControl) -> u64 {
    if matches!(control, CongestionControl::LinuxBbr | CongestionControl::Bbr3) { 3 } else { 2 }
}

/// `tcp_update_pacing_rate`, octets a second, and `tcp_tso_autosize`: segments that leave together where nothing paces. Not by the
/// shortest round trip (`tcp_tso_rtt_log`), which counts below 4 ms.
pub(crate) fn burst(window: &Window, srtt: Duration) -> u64 {
    let ratio = if window.cwnd() < window.ssthresh() / 2 { 200 } else { 120 };
    let srtt = if srtt == Duration::ZERO { Duration::from_millis(1) } else { srtt };
    let rate = u128::from(window.cwnd()) * ratio / 100 * 1_000_000_000 / u128::from(srtt.as_nanos());
    let octets = u64::try_from(rate >> PACING_SHIFT).unwrap_or(u64::MAX);
    (octets.min(MOST_OCTETS) / window.smss).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1448;
    const MSS: u64 = 1460;

    fn load(sent: u64, unsent: u64, cwnd: u64) -> Load {
        let (sent, cwnd) = (sent * SMSS, cwnd * SMSS);
        Load { sent, unsent, is_full: sent + SMSS > cwnd, cwnd, smss: SMSS, half_window: 1 << 20 }
    }

    #[test]
    fn what_waits_takes_memory_as_measured() {
        // Linux 6.18, `ss -tm`: unacked, its buffers, notsent, w.
        for (sent, buffers, unsent, queued) in [
            (0, 0, 689_248, 698_400),
            (0, 0, 558_928, 566_416),
            (0, 0, 72_400, 74_064),
            (354, 177, 57_920, 718_608),
            (1715, 394, 41_992, 2_853_952),
            (1498, 760, 0, 2_801_424),
        ] {
            assert_eq!(load(sent, unsent, 100).queued(buffers), queued);
        }
        // Half of a window of 64 KiB bounds a buffer.
        assert_eq!(Load { half_window: 32_768, ..load(0, 1, 10) }.goal(), 22 * SMSS);
        assert_eq!(Load { half_window: 0, ..load(0, 1, 10) }.goal(), SMSS);
    }

    #[test]
    fn it_is_as_large_as_measured() {
        // Linux 6.18, `ss -tm`: tb, with CUBIC and a window of 20, BBR and windows of 15, 104 and 108.
        for (windows, cwnd, limit) in
            [(2, 20, 92_160), (2, 3, 46_080), (3, 15, 103_680), (3, 104, 718_848), (3, 108, 746_496)]
        {
            let mut memory = SendMemory::new(4 << 20, windows);
            memory.expand(&load(0, 0, cwnd), MSS);
            assert_eq!(memory.limit, limit, "{cwnd}");
            memory.expand(&load(0, 0, 1), MSS);
            assert_eq!(memory.limit, limit, "it does not shrink");
        }
        let mut memory = SendMemory::new(4 << 20, 3);
        memory.expand(&load(0, 0, 10_000), MSS);
        assert_eq!(memory.limit, 4 << 20);
    }

    #[test]
    fn the_writer_sleeps_until_a_third_is_free() {
        let mut memory = SendMemory::new(4 << 20, 2);
        let mut at = Instant::ZERO;
        let mut later = |memory: &mut SendMemory, load: Load| {
            at += Duration::from_nanos(1);
            memory.is_writable(at, &load, MSS, || 5)
        };
        // 46,080 less 14,480 in flight, the window full, in five buffers, and one that waits: 15,360 have to be free.
        assert!(later(&mut memory, load(10, 11_248, 10)));
        assert!(!later(&mut memory, load(10, 11_250, 10)));
        assert_eq!(memory.limit, 46_080, "the window is full");
        // A window that has room lets it grow.
        assert!(later(&mut memory, load(10, 11_250, 12)));
        assert_eq!(memory.limit, 2 * 12 * 2304);
    }

    #[test]
    fn awake_it_fills_the_last_buffer_and_asks_for_a_new_one() {
        let mut memory = SendMemory::new(4 << 20, 2);
        let mut ask =
            |sent, unsent| memory.is_writable(Instant::ZERO, &load(sent, unsent, sent), MSS, || sent / 2);
        assert!(ask(10, 11_248));
        // 24 segments in 12 buffers of 46,080 octets, not 25 in 12.
        assert!(ask(24, 0));
        assert!(!ask(25, 0));
        assert!(ask(25, 1), "what has begun is filled");
    }

    #[test]
    fn nobody_counts_buffers_where_one_for_each_segment_is_not_too_much() {
        let mut memory = SendMemory::new(4 << 20, 2);
        assert!(memory.is_writable(Instant::ZERO, &load(10, 6_000, 10), MSS, || unreachable!()));
    }

    #[test]
    fn buffers_fall_apart_where_some_is_sacked() {
        let count = |ranges: &[(u64, u64)], ends: &[u64], together| {
            let mut board = Scoreboard::default();
            for &(start, end) in ranges {
                board.insert(start, end);
            }
            buffers(1, ends.iter().copied(), &board, together)
        };
        let ends = [6, 11, 16];
        assert_eq!(count(&[], &ends, u64::MAX), 3);
        assert_eq!(count(&[], &ends, 2), 9, "two octets leave together");
        // Three parts of the second, one of which is SACKed.
        assert_eq!(count(&[(7, 8)], &ends, u64::MAX), 5);
        assert_eq!(count(&[(6, 11)], &ends, u64::MAX), 3);
        // From the first to the third, as one.
        assert_eq!(count(&[(3, 13)], &ends, u64::MAX), 3);
        assert_eq!(count(&[(3, 4), (5, 14), (15, 16)], &ends, u64::MAX), 6);
        assert_eq!(count(&[(1, 16)], &ends, u64::MAX), 1);
    }

    #[test]
    fn two_segments_leave_together_or_a_millisecond_s_worth() {
        let window = |cwnd, ssthresh| Window::of(SMSS, cwnd, ssthresh);
        let srtt = Duration::from_millis(100);
        // 100 segments in 100 ms are one in a millisecond, and the pace is 1.2 or 2 times that. A buffer holds 45.
        assert_eq!(burst(&window(100, 100), srtt), 2);
        assert_eq!(burst(&window(1_000, 1_000), srtt), 11);
        assert_eq!(burst(&window(1_000, 3_000), srtt), 19, "slow start");
        assert_eq!(burst(&window(10_000, 10_000), srtt), 45);
        assert_eq!(burst(&window(10, 10), Duration::ZERO), 11, "as if it were a millisecond");
    }
}
