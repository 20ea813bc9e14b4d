//! The memory that a send buffer takes, and how it grows, as in Linux: `sk_wmem_queued` below `sk_sndbuf` (`tcp_sndbuf_expand`,
//! `tcp_new_space`, `sk_stream_is_writeable`).
//!
//! An application that always has more to write fills it, sleeps until a third is free again, and may find that everything has left
//! meanwhile: then what was sent last was limited by the application, not by the path (`tcp_rate_check_app_limited`).

use handfast_core::Duration;

use crate::cc::Window;

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
    /// Of those that are outstanding: what is missing below the highest SACK, and what is SACKed, in so many ranges. A buffer of several
    /// segments falls apart where some are lost (`tcp_match_skb_to_sack`, `tcp_retransmit_skb`), and those that are SACKed become
    /// one (`tcp_shift_skb_data`).
    pub(crate) holes: u64,
    pub(crate) sacked: u64,
    pub(crate) ranges: u64,
    /// Octets in flight, and the window.
    pub(crate) in_flight: u64,
    pub(crate) cwnd: u64,
    pub(crate) smss: u64,
    /// Segments that leave together.
    pub(crate) burst: u64,
    /// Half of the largest window that the peer has offered.
    pub(crate) half_window: u64,
}

impl Load {
    /// `tcp_xmit_size_goal`: the octets of a full buffer.
    fn goal(&self) -> u64 {
        (MOST_OCTETS.min(self.half_window.max(1)) / self.smss).max(1) * self.smss
    }

    /// `sk_wmem_queued`
    fn queued(&self) -> u64 {
        let whole = self.sent.saturating_sub(self.holes + self.sacked);
        let buffers = whole.div_ceil(self.burst.max(1) * self.smss)
            + self.holes.div_ceil(self.smss)
            + self.ranges
            + self.unsent.div_ceil(self.goal());
        self.sent + self.unsent + buffers * OVERHEAD
    }
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
}

impl SendMemory {
    /// `windows`: [`crate::cc::Control::send_windows`].
    pub(crate) fn new(most: u64, windows: u64) -> Self {
        Self { most, windows, limit: 0 }
    }

    /// `tcp_sndbuf_expand`
    fn expand(&mut self, load: &Load, mss: u64) {
        let segment = (mss + MAX_HEADER + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let segments = (load.cwnd / load.smss).max(LEAST_SEGMENTS);
        self.limit = self.limit.max(self.windows * segments * segment).min(self.most);
    }

    /// Whether an application that sleeps until there is room is woken (`sk_stream_is_writeable`): a third is free.
    pub(crate) fn is_writable(&mut self, load: &Load, mss: u64) -> bool {
        // `tcp_init_buffer_space`; `tcp_should_expand_sndbuf`: "If we filled the congestion window, do not expand."
        if self.limit == 0 || load.in_flight + load.smss <= load.cwnd {
            self.expand(load, mss);
        }
        let queued = load.queued();
        self.limit.saturating_sub(queued) >= queued / 2
    }
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
        let in_flight = sent;
        let (holes, sacked, ranges) = (0, 0, 0);
        Load {
            sent,
            unsent,
            holes,
            sacked,
            ranges,
            in_flight,
            cwnd: cwnd * SMSS,
            smss: SMSS,
            burst: 2,
            half_window: 1 << 20,
        }
    }

    /// A buffer that holds so many windows, with a window of ten segments.
    fn buffer(windows: u64) -> SendMemory {
        let mut memory = SendMemory::new(4 << 20, windows);
        assert_eq!(memory.room(&load(0, 0, 10), MSS), 45 * SMSS);
        memory
    }

    #[test]
    fn what_waits_takes_memory_as_measured() {
        // Linux 6.18, `ss -tm`: notsent and w.
        for (unsent, queued) in [(689_248, 698_400), (558_928, 566_416), (72_400, 74_064), (819_568, 830_384)]
        {
            assert_eq!(load(0, unsent, 100).queued(), queued);
        }
        // What has left stands in buffers of two segments.
        assert_eq!(load(4 * SMSS, 0, 100).queued(), 4 * SMSS + 2 * OVERHEAD);
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
        let mut memory = buffer(3);
        memory.expand(&load(0, 0, 10_000), MSS);
        assert_eq!(memory.limit, 4 << 20);
    }

    #[test]
    fn the_writer_sleeps_until_a_third_is_free() {
        let mut memory = buffer(2);
        assert_eq!((memory.limit, memory.is_full()), (46_080, false));
        // A buffer that has begun is filled, beyond the limit.
        assert_eq!(memory.room(&load(0, 45 * SMSS, 10), MSS), 0);
        assert!(memory.is_full());
        // 14,480 in flight, the window full: 46,080 - 32,212 are less than half of 32,212.
        let left = |unsent| load(10 * SMSS, unsent, 10);
        assert_eq!(left(12_740).queued(), 14_480 + 12_740 + 6 * OVERHEAD);
        assert_eq!(memory.room(&left(12_740), MSS), 0);
        assert_eq!(memory.limit, 46_080, "the window is full");
        assert_eq!(memory.room(&left(11_200), MSS), 45 * SMSS);
        assert!(!memory.is_full());
    }

    #[test]
    fn it_grows_with_a_window_that_has_room() {
        let mut memory = buffer(2);
        assert_eq!(memory.room(&load(0, 45 * SMSS, 10), MSS), 0);
        assert_eq!(memory.room(&load(39 * SMSS, 0, 40), MSS), 45 * SMSS);
        assert_eq!(memory.limit, 2 * 40 * 2304);
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
