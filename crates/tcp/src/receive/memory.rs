//! What a receive buffer is in Linux: memory, of which segments take more than they carry, and a window that follows from what is left
//! (`tcp_input.c`, `tcp_output.c`; names as there). For sockets that scripts look at: simulations have [`super::autotune`] alone.

use std::collections::{BTreeMap, VecDeque};

use super::autotune::{FIRST_ROUND, LEAST};
use crate::{DEFAULT_MSS, MIN_MSS};

/// `TCP_RMEM_TO_WIN_SCALE`, and the ratio before anything has come: half of the memory counts as window.
const RATIO_SHIFT: u32 = 8;
const DEFAULT_RATIO: u64 = 1 << (RATIO_SHIFT - 1);
/// `SOCK_MIN_RCVBUF`, about.
const LEAST_BUFFER: u64 = 2_304;

/// What a `struct sk_buff` takes; its end; a head in the cache of small ones; headroom.
const BUFFER: u64 = 256;
const SHARED_INFO: u64 = 320;
const SMALL_HEAD: u64 = 576;
const HEADROOM: u64 = 64;
const PAGE: u64 = 4_096;

/// A receive buffer as a socket has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveMemory {
    /// `sk_rcvbuf`, octets.
    pub buffer: u64,
    /// What it may grow to (`tcp_rmem[2]`), octets.
    pub most: u64,
    /// The application has set it (`SO_RCVBUF`): it stays.
    pub locked: bool,
    /// The segment size of our SYN, octets.
    pub mss: u16,
    /// IP's and TCP's headers of a segment, octets.
    pub headers: u64,
    /// Segments that arrive joined have so many octets each (`gso_size`); [`None`]: they arrive one by one.
    pub joined: Option<u64>,
    /// A window that is scaled may shrink (`tcp_shrink_window`), which RFC 9293 §3.8.6 discourages.
    pub shrinks: bool,
}

/// How it stands, for `TCP_INFO` and `SO_MEMINFO`; octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// `sk_rcvbuf`
    pub buffer: u64,
    /// `sk_rmem_alloc`
    pub used: u64,
    /// `rcv_mss`
    pub segment: u64,
    /// `rcv_ssthresh`
    pub window_limit: u64,
    /// `rcvq_space.space`
    pub space: u64,
    /// Segments dropped: they went beyond the window (`BeyondWindow`).
    pub beyond_window: u64,
    /// The window was closed (`TCPZeroWindowDrop`).
    pub zero_window: u64,
    /// There was no memory (`TCPRcvQDrop`).
    pub no_memory: u64,
}

/// The buffer of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    how: ReceiveMemory,
    /// `scaling_ratio`, in 256ths.
    ratio: u64,
    clamp: u64,
    ssthresh: u64,
    rcv_mss: u64,
    /// `last_seg_size`: zero after a full segment.
    last: u64,
    /// `rcvq_space.space`
    space: u64,
    /// `rcv_wnd`: the window as it was last offered.
    offered: u64,
    used: u64,
    /// Memory of each segment in order, by where it ends, and where the first begins.
    ready: VecDeque<(u64, u64)>,
    begins: u64,
    /// What the last of them has room for, octets.
    tailroom: u64,
    /// Of those beyond a hole, by where they begin: end and memory.
    beyond: BTreeMap<u64, (u64, u64)>,
    /// `ICSK_ACK_NOMEM`
    exhausted: bool,
    /// The application has the connection.
    accepted: bool,
    /// The last segment has opened the window.
    grew: bool,
    drops: [u64; 3],
}

/// Why a segment is dropped (`skb_drop_reason`): the index of what counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DropReason {
    BeyondWindow,
    ZeroWindow,
    NoMemory,
}

impl Memory {
    pub(crate) fn new(how: ReceiveMemory) -> Self {
        let mss = u64::from(how.mss);
        let full = (how.buffer * DEFAULT_RATIO) >> RATIO_SHIFT;
        // `tcp_select_initial_window`: whole segments.
        let offered = if full > mss { full / mss * mss } else { full };
        // `tcp_init_buffer_space`: "Force reservation of one segment."
        let clamp = if full > 2 * mss { (full - mss).max(2 * mss) } else { full };
        let ssthresh = offered.min(clamp);
        Self {
            how,
            ratio: DEFAULT_RATIO,
            clamp,
            ssthresh,
            last: 0,
            rcv_mss: u64::from(DEFAULT_MSS).min(mss).min(offered / 2),
            space: ssthresh.min(FIRST_ROUND * mss),
            offered,
            used: 0,
            ready: VecDeque::new(),
            begins: 0,
            tailroom: 0,
            beyond: BTreeMap::new(),
            exhausted: false,
            accepted: false,
            grew: false,
            drops: [0; 3],
        }
    }

    pub(crate) fn report(&self) -> MemoryReport {
        let [beyond_window, zero_window, no_memory] = self.drops;
        MemoryReport {
            buffer: self.how.buffer,
            used: self.used,
            segment: self.rcv_mss,
            window_limit: self.ssthresh,
            space: self.space,
            beyond_window,
            zero_window,
            no_memory,
        }
    }

    /// The window that the handshake grants.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// Windows are not scaled.
    pub(crate) fn without_scaling(&mut self) {
        self.offered = self.offered.min(u64::from(u16::MAX));
        self.ssthresh = self.ssthresh.min(self.offered);
    }

    /// The application sets it.
    pub(crate) fn set_buffer(&mut self, octets: u64) {
        (self.how.buffer, self.how.locked) = (octets, true);
    }

    pub(crate) fn set_accepted(&mut self) {
        self.accepted = true;
    }

    /// `rcv_mss`
    pub(crate) fn segment(&self) -> u64 {
        self.rcv_mss
    }

    /// Octets of a segment as `tcp_measure_rcv_mss` counts them.
    pub(crate) fn unit(&self, len: u64) -> u64 {
        self.how.joined.map_or(len, |joined| joined.min(len))
    }

    /// There was no memory for the last segment.
    pub(crate) fn is_out(&self) -> bool {
        self.exhausted
    }

    /// Whether the last segment has opened the window.
    pub(crate) fn grew(&self) -> bool {
        self.grew
    }

    pub(crate) fn count(&mut self, why: DropReason) {
        self.drops[why as usize] += 1;
    }

    /// `tcp_win_from_space`
    fn window_in(&self, memory: u64) -> u64 {
        (memory * self.ratio) >> RATIO_SHIFT
    }

    /// `tcp_space`
    fn free(&self) -> u64 {
        self.window_in(self.how.buffer.saturating_sub(self.used))
    }

    /// `skb->truesize` of a segment with so many octets of payload, as a TUN device of Linux 6.18 makes it (measured): a small head, one
    /// block of a power of two, or pages.
    fn truesize(&self, len: u64) -> u64 {
        let head = HEADROOM + self.how.headers + len + SHARED_INFO;
        match head {
            ..=SMALL_HEAD => BUFFER + SMALL_HEAD,
            _ if head <= 2 * PAGE => BUFFER + head.next_power_of_two(),
            _ => BUFFER + head.next_multiple_of(PAGE),
        }
    }

    /// A segment of `len` octets is to be kept (`tcp_try_rmem_schedule`): whether there is memory. The last may take more than is left
    /// (`tcp_can_ingest`). Where nothing waits it is taken all the same, and the window is closed.
    pub(crate) fn schedule(&mut self, len: u64, in_order: bool, waits: bool) -> bool {
        let full = self.used > self.how.buffer && !(in_order && self.is_predicted(len));
        if full {
            // `tcp_prune_queue`. It would also forget what was SACKed: here see `Memory::prune`.
            self.clamp_window();
            self.collapse();
        }
        let fits = !full || self.used <= self.how.buffer;
        self.exhausted = in_order && !fits;
        if self.exhausted && waits && len > 0 {
            self.count(DropReason::NoMemory);
        }
        fits || in_order && !waits
    }

    /// `tcp_rcv_established`: what is in order, and fits into what is left of the last page, is taken without a look at the buffer.
    fn is_predicted(&self, len: u64) -> bool {
        let left = self.used.next_multiple_of(PAGE) - self.used;
        self.beyond.is_empty() && self.offered > 0 && self.truesize(len) <= left
    }

    /// `tcp_collapse`: from the first segment on that takes more memory than its octets are worth, what waits to be read is copied into
    /// blocks of a page.
    fn collapse(&mut self) {
        let mut start = self.begins;
        let bloated = self.ready.iter().position(|&(end, memory)| {
            self.window_in(memory) > end - start || {
                start = end;
                false
            }
        });
        let Some(first) = bloated else { return };
        let Some(&(last, _)) = self.ready.back() else { return };
        self.used -= self.ready.drain(first..).map(|(_, memory)| memory).sum::<u64>();
        while start < last {
            let len = (PAGE - SHARED_INFO).min(last - start);
            let block = (len + SHARED_INFO).next_power_of_two();
            let memory = BUFFER + block;
            self.tailroom = block - SHARED_INFO - len;
            start += len;
            self.ready.push_back((start, memory));
            self.used += memory;
        }
    }

    /// `tcp_clamp_window`
    fn clamp_window(&mut self) {
        if self.how.buffer < self.how.most && !self.how.locked {
            self.how.buffer = self.used.min(self.how.most).max(self.how.buffer);
        }
        if self.used > self.how.buffer {
            self.ssthresh = self.clamp.min(2 * u64::from(self.how.mss));
        }
    }

    /// A segment in order was taken, up to `end`; what lay beyond the hole that it fills, up to `next`, is in order too.
    pub(crate) fn take_in_order(&mut self, end: u64, next: u64, len: u64, pushed: bool) {
        let memory = self.truesize(len);
        self.used += memory;
        self.append(end, len, memory);
        let mut reached = end;
        while let Some(first) = self.beyond.first_entry().filter(|first| *first.key() < next) {
            let start = *first.key();
            let (end, memory) = first.remove();
            if end > reached {
                reached = end;
                self.append(end, end - start, memory);
            } else {
                // `tcp_ofo_queue`: nothing in it is new.
                self.used -= memory;
            }
        }
        self.measure(len, memory, pushed);
        self.grew = false;
        if len >= LEAST {
            self.grow(len, memory);
        }
    }

    /// `tcp_try_coalesce`: what fits behind the octets of the last segment is copied there, and its memory is free again.
    fn append(&mut self, end: u64, len: u64, memory: u64) {
        match self.ready.back_mut() {
            Some(last) if len <= self.tailroom => {
                last.0 = end;
                self.tailroom -= len;
                self.used -= memory;
            }
            _ => {
                self.ready.push_back((end, memory));
                self.tailroom = self.tailroom_behind(len);
            }
        }
    }

    /// `skb_tailroom` of a segment with so many octets: pages have none.
    fn tailroom_behind(&self, len: u64) -> u64 {
        let head = HEADROOM + self.how.headers + len + SHARED_INFO;
        if head <= 2 * PAGE { self.truesize(len) - BUFFER - head } else { 0 }
    }

    /// A segment beyond a hole was taken (`tcp_data_queue_ofo`). `grows`: SACK is on.
    pub(crate) fn take_beyond(&mut self, start: u64, next: u64, len: u64, pushed: bool, grows: bool) {
        let memory = self.truesize(len);
        self.measure(len, memory, pushed);
        if grows {
            self.grow(len, memory);
        }
        // `tcp_data_queue_ofo`: what it covers goes.
        let covered = self.beyond.range(start..start + len).filter(|&(_, &(end, _))| end <= start + len);
        for (at, memory) in covered.map(|(&at, &(_, memory))| (at, memory)).collect::<Vec<_>>() {
            self.beyond.remove(&at);
            self.used -= memory;
        }
        self.used += memory;
        if let Some((_, before)) = self.beyond.insert(start, (start + len, memory)) {
            self.used -= before;
        }
        if self.accepted {
            let farthest = self.beyond.values().map(|&(end, _)| end).max().unwrap_or(next);
            self.follow(2 * self.space + farthest.saturating_sub(next));
        }
    }

    /// `tcp_rcv_space_adjust`: the application has read so much in a round trip, which asks for such a window.
    pub(crate) fn follow_reading(&mut self, copied: u64, window: u64) {
        self.space = copied;
        self.follow(window);
    }

    /// The application has read up to `copied`.
    pub(crate) fn read(&mut self, copied: u64) {
        while let Some((end, memory)) = self.ready.front().copied().filter(|&(end, _)| end <= copied) {
            self.ready.pop_front();
            self.begins = end;
            self.used -= memory;
        }
    }

    /// All that is in order has been read, and what lies beyond a hole keeps the window closed: so the hole would never be filled. Forgets
    /// from the top (`tcp_prune_ofo_queue`), an eighth of the buffer at least, until the window opens. Where what is kept ends; [`None`]:
    /// all is kept.
    pub(crate) fn prune(&mut self, next: u64, shift: u8) -> Option<u64> {
        if !self.ready.is_empty() || self.beyond.is_empty() || self.select(shift) > 0 {
            return None;
        }
        let goal = self.used.saturating_sub(self.how.buffer >> 3);
        while self.used > goal || self.select(shift) == 0 {
            let Some((_, (_, memory))) = self.beyond.pop_last() else { break };
            self.used -= memory;
        }
        Some(self.beyond.values().map(|&(end, _)| end).max().unwrap_or(next).max(next))
    }

    /// `tcp_rcvbuf_grow`: the buffer holds a window of so many octets at least.
    fn follow(&mut self, window: u64) {
        let buffer = ((window << RATIO_SHIFT) / self.ratio).min(self.how.most);
        if !self.how.locked && buffer > self.how.buffer {
            self.how.buffer = buffer;
            self.clamp = self.window_in(buffer);
        }
    }

    /// `tcp_measure_rcv_mss`
    fn measure(&mut self, len: u64, memory: u64, pushed: bool) {
        let unit = self.unit(len);
        let last = std::mem::take(&mut self.last);
        if unit < self.rcv_mss {
            // What is smaller counts once two in a row are alike: segments that are full, as far as their sender is concerned.
            if unit >= u64::from(DEFAULT_MSS) || unit >= u64::from(MIN_MSS) && !pushed {
                self.last = unit;
                self.rcv_mss = if unit == last { unit } else { self.rcv_mss };
            }
            return;
        }
        if unit != self.rcv_mss {
            let before = std::mem::replace(&mut self.ratio, ((len << RATIO_SHIFT) / memory).clamp(1, 255));
            if before != self.ratio {
                self.set_clamp(self.window_in(self.how.buffer));
            }
        }
        self.rcv_mss = unit.min(u64::from(self.how.mss));
    }

    /// `tcp_set_window_clamp`
    fn set_clamp(&mut self, window: u64) {
        let before = std::mem::replace(&mut self.clamp, window.max(LEAST_BUFFER / 2));
        if self.clamp < before {
            self.ssthresh = self.ssthresh.min(self.clamp);
        } else if self.clamp > before {
            self.ssthresh = self.ssthresh.max(self.offered.min(self.clamp));
        }
        self.space = self.space.min(self.clamp);
    }

    /// `tcp_grow_window`
    fn grow(&mut self, len: u64, memory: u64) {
        let room = self.clamp.min(self.free()).saturating_sub(self.ssthresh);
        let least =
            if self.window_in(memory) <= len { 2 * u64::from(self.how.mss) } else { self.later(len, memory) };
        self.grew = least > 0 && room > 0;
        if self.grew {
            self.ssthresh += room.min(least.max(2 * len));
        }
    }

    /// `__tcp_grow_window`: "Increase window, if skb with such overhead will fit to rcvbuf in future."
    fn later(&self, len: u64, memory: u64) -> u64 {
        let (mut memory, mut window) = (self.window_in(memory) / 2, self.window_in(self.how.most) / 2);
        while self.ssthresh <= window {
            if memory <= len {
                return 2 * self.rcv_mss;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// Less than half is free: acknowledgements are not hurried.
    pub(crate) fn is_tight(&self) -> bool {
        self.free() < self.clamp.min(self.window_in(self.how.buffer)) / 2
    }

    /// Whether the window that could be offered is less than what was.
    pub(crate) fn shrinks(&self, shift: u8) -> bool {
        self.select(shift) < self.offered
    }

    /// `tcp_cleanup_rbuf`: whether reading has opened the window so far that the peer is told. `current`: what is left of it.
    pub(crate) fn owes_update(&self, current: u64, shift: u8) -> bool {
        let new = self.select(shift);
        2 * current <= self.clamp && new > 0 && new >= 2 * current
    }

    fn may_shrink(&self, shift: u8) -> bool {
        self.how.shrinks && shift > 0
    }

    /// `__tcp_select_window`
    fn select(&self, shift: u8) -> u64 {
        let allowed = self.window_in(self.how.buffer);
        let full = self.clamp.min(allowed);
        let mss = self.rcv_mss.min(full);
        let mut free = self.free();
        if free < full / 2 || self.may_shrink(shift) {
            free = free >> shift << shift;
        }
        // What may shrink is rounded down: it may become zero so as well.
        if free < full / 2 && (free < allowed >> 4 || free < mss) {
            return 0;
        }
        free = free.min(self.ssthresh);
        if shift > 0 {
            return free.next_multiple_of(1 << shift);
        }
        let window = self.offered;
        if window + mss <= free || window > free {
            free / mss.max(1) * mss
        } else if mss == full && free > window + full / 2 {
            free
        } else {
            window
        }
    }

    /// `tcp_select_window`: what is offered now. `current`: what is left of what was, which shrinks only where it may.
    pub(crate) fn offer(&mut self, current: u64, shift: u8) -> u64 {
        self.offered = if std::mem::take(&mut self.exhausted) {
            0
        } else if self.may_shrink(shift) {
            self.select(shift)
        } else {
            self.select(shift).max(current.next_multiple_of(1 << shift))
        };
        self.offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: ReceiveMemory = ReceiveMemory {
        buffer: 20_000,
        most: 6_291_456,
        locked: true,
        mss: 1460,
        headers: 40,
        joined: Some(1000),
        shrinks: false,
    };

    #[test]
    fn segments_take_what_linux_was_measured_to_take() {
        let memory = Memory::new(HOW);
        for (len, size) in [
            (1, 832),
            (100, 832),
            (152, 832),
            (153, 1280),
            (500, 1280),
            (1000, 2304),
            (1460, 2304),
            (2000, 4352),
            (4000, 8448),
            (5840, 8448),
            (7768, 8448),
            (8000, 12_544),
            (9000, 12_544),
            (14_600, 16_640),
            (20_000, 20_736),
            (39_000, 41_216),
            (50_000, 53_504),
            (65_000, 65_792),
        ] {
            assert_eq!(memory.truesize(len), size, "{len}");
        }
    }

    /// A segment in order, where something waits.
    fn take(memory: &mut Memory, at: &mut u64, len: u64) -> bool {
        let taken = memory.schedule(len, true, true);
        if taken {
            *at += len;
            memory.take_in_order(*at, *at, len, true);
        }
        taken
    }

    #[test]
    fn the_last_segment_may_take_more_than_is_left() {
        let (mut memory, mut at) = (Memory::new(ReceiveMemory { joined: None, ..HOW }), 0);
        for (len, taken, used) in [(1000, true, 2304), (16_000, true, 23_040), (1000, false, 21_760)] {
            assert_eq!((take(&mut memory, &mut at, len), memory.used), (taken, used), "{len}");
        }
        assert_eq!(memory.report().no_memory, 1);
    }

    #[test]
    fn what_fits_into_the_last_page_is_taken_without_a_look() {
        let (mut memory, mut at) = (Memory::new(ReceiveMemory { buffer: 20_000, joined: None, ..HOW }), 0);
        assert!(take(&mut memory, &mut at, 18_000));
        // 3,840 are left of the sixth page, then 1,536.
        assert_eq!((memory.used, take(&mut memory, &mut at, 1000)), (20_736, true));
        assert_eq!((memory.used, take(&mut memory, &mut at, 1000)), (23_040, false));
    }

    #[test]
    fn what_is_small_is_copied_and_what_is_bloated_collapses() {
        let (mut memory, mut at) = (Memory::new(ReceiveMemory { joined: None, ..HOW }), 0);
        for (len, used) in [(1000, 2304), (500, 2304), (500, 3584), (100, 3584), (1, 4416)] {
            assert!(take(&mut memory, &mut at, len));
            assert_eq!(memory.used, used, "{len}");
        }
        let mut most = 0;
        while memory.used >= most {
            most = memory.used;
            assert!(take(&mut memory, &mut at, 300), "{at}");
        }
        // Two to a segment: 4,416 + 15 x 1,280. The first two are worth their memory; the 8,701 octets behind them are two blocks of
        // 3,776 and one of 2,048, which has room for the last: 3,584 + 2 x 4,352 + 2,304.
        assert_eq!((at, most, memory.used), (11_101, 23_616, 14_592));
    }

    #[test]
    fn a_window_shrinks_only_where_it_may() {
        for (shrinks, shift, offered) in [(false, 10, 16_384), (true, 10, 15_360), (true, 0, 15_840)] {
            let mut memory =
                Memory::new(ReceiveMemory { buffer: 32_768, locked: false, joined: None, shrinks, ..HOW });
            memory.ssthresh = memory.offered;
            memory.used = 1000;
            memory.offered = 15_840;
            assert_eq!(memory.offer(15_840, shift), offered, "{shrinks} {shift}");
        }
    }

    #[test]
    fn the_first_window_is_half_of_the_buffer_in_whole_segments() {
        let memory = Memory::new(HOW);
        assert_eq!((memory.offered(), memory.ssthresh, memory.clamp), (8760, 8540, 8540));
        let large = Memory::new(ReceiveMemory { buffer: 540_000, ..HOW });
        assert_eq!((large.ssthresh, large.space), (268_540, 14_600));
    }

    #[test]
    fn what_waits_takes_from_the_window_by_its_memory() {
        let mut memory = Memory::new(HOW);
        assert!(memory.schedule(4000, true, false));
        memory.take_in_order(4000, 4000, 4000, true);
        // (20,000 - 8,448) x 121 / 256 = 5,460, in whole segments of 1,000.
        assert_eq!((memory.ratio, memory.offer(4760, 0)), (121, 5000));
        memory.used = 20_001;
        assert!(!memory.schedule(50_000, true, true), "something waits");
        memory.used = 8448;
        memory.read(4000);
        assert_eq!(memory.used, 0);
        assert!(memory.schedule(50_000, true, false), "nothing waits");
        memory.take_in_order(54_000, 54_000, 50_000, true);
        assert_eq!(memory.offer(0, 0), 0);
        assert_eq!(memory.report().no_memory, 1);
    }

    #[test]
    fn the_buffer_grows_with_what_lies_beyond_a_hole_once_somebody_has_the_connection() {
        for (accepted, grown) in [(false, false), (true, true)] {
            let mut memory = Memory::new(ReceiveMemory { buffer: 131_072, locked: false, ..HOW });
            memory.accepted = accepted;
            memory.take_beyond(2000, 0, 39_000, false, true);
            memory.take_beyond(41_000, 0, 60_000, false, true);
            assert_eq!(memory.report().buffer > 131_072, grown);
        }
    }

    #[test]
    fn what_was_read_in_a_round_trip_counts_for_what_lies_beyond_a_hole() {
        let mut memory = Memory::new(ReceiveMemory { buffer: 131_072, locked: false, ..HOW });
        memory.accepted = true;
        memory.follow_reading(60_000, 120_000);
        // 120,000 x 256 / 128
        assert_eq!((memory.report().space, memory.report().buffer), (60_000, 240_000));
        memory.take_beyond(2000, 0, 1000, false, true);
        // (2 x 60,000 + 3,000) x 256 / 111
        assert_eq!((memory.ratio, memory.report().buffer), (111, 283_675));
    }

    #[test]
    fn two_smaller_segments_in_a_row_are_full_ones() {
        let mut memory = Memory::new(ReceiveMemory { buffer: 131_072, joined: None, ..HOW });
        let mut take = |len, pushed| {
            memory.measure(len, memory.truesize(len), pushed);
            memory.segment()
        };
        assert_eq!([take(1460, false), take(1000, true), take(1000, true)], [1460, 1460, 1000]);
        assert_eq!([take(1460, false), take(1000, false), take(600, false), take(1000, false)], [1460; 4]);
        assert_eq!(
            [take(200, true), take(200, true), take(200, false), take(200, false)],
            [1460, 1460, 1460, 200]
        );
    }

    #[test]
    fn what_a_hole_hid_is_read_after_it() {
        let mut memory = Memory::new(ReceiveMemory { buffer: 131_072, ..HOW });
        memory.take_beyond(1000, 0, 1000, false, true);
        memory.take_in_order(1000, 2000, 1000, true);
        assert_eq!(memory.used, 2 * 2304);
        memory.read(1000);
        assert_eq!(memory.used, 2304);
        memory.read(2000);
        assert_eq!((memory.used, memory.beyond.len()), (0, 0));
    }
}
