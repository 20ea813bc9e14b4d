//! Congestion control of one path (§7.2).

/// cwnd, ssthresh and `partial_bytes_acked`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) partial_bytes_acked: u64,
    /// PMDCS: the longest DATA chunk that a packet takes.
    pmdcs: u64,
    /// L of §7.2.1.
    limit: u64,
}

/// What a SACK tells of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    /// Bytes of chunks that it acknowledges first.
    pub(crate) bytes: u64,
    /// The window was full before it came.
    pub(crate) full: bool,
    /// It moves the cumulative TSN ack point.
    pub(crate) advances: bool,
    /// The association is in fast recovery.
    pub(crate) in_fast_recovery: bool,
    /// Nothing is outstanding any more, on any path.
    pub(crate) all_acknowledged: bool,
}

impl Window {
    /// §7.2.1: at the beginning.
    pub(crate) fn new(pmdcs: u64, v6: bool, limit: u64) -> Self {
        let bound = if v6 { 4344 } else { 4404 };
        let cwnd = (4 * pmdcs).min((2 * pmdcs).max(bound));
        // "The initial value of ssthresh MAY be arbitrarily high."
        Self { cwnd, ssthresh: u64::MAX, partial_bytes_acked: 0, pmdcs, limit }
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        if self.cwnd <= self.ssthresh {
            // §7.2.1: only where the window was used, the point moves and there is no fast recovery.
            if ack.full && ack.advances && !ack.in_fast_recovery {
                self.cwnd += ack.bytes.min(self.limit * self.pmdcs);
            }
        } else {
            self.avoid_congestion(ack.bytes, ack.full);
        }
        if ack.all_acknowledged {
            // §7.2.2, last but one rule.
            self.partial_bytes_acked = 0;
        }
    }

    /// §7.2.2: "upon each SACK chunk arrival", whether or not the point moves.
    fn avoid_congestion(&mut self, bytes: u64, full: bool) {
        self.partial_bytes_acked += bytes;
        if self.partial_bytes_acked >= self.cwnd {
            if full {
                self.partial_bytes_acked -= self.cwnd;
                self.cwnd += self.pmdcs;
            } else {
                self.partial_bytes_acked = self.cwnd;
            }
        }
    }

    /// §7.2.3: losses that SACKs show.
    pub(crate) fn on_fast_retransmit(&mut self) {
        self.lower_ssthresh();
        self.cwnd = self.ssthresh;
    }

    /// §7.2.3: T3-rtx has expired.
    pub(crate) fn on_timeout(&mut self) {
        self.lower_ssthresh();
        self.cwnd = self.pmdcs;
    }

    fn lower_ssthresh(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(4 * self.pmdcs);
        self.partial_bytes_acked = 0;
    }

    /// §7.2.1: nothing was sent for so many RTOs.
    pub(crate) fn on_idle(&mut self, rtos: u64) {
        let floor = 4 * self.pmdcs;
        if rtos == 0 || self.cwnd <= floor {
            return;
        }
        self.ssthresh = self.cwnd;
        self.cwnd = self.cwnd.checked_shr(rtos.min(64) as u32).unwrap_or(0).max(floor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PMDCS: u64 = 1468;

    fn window() -> Window {
        Window::new(PMDCS, false, 1)
    }

    fn ack(bytes: u64) -> Ack {
        Ack { bytes, full: true, advances: true, in_fast_recovery: false, all_acknowledged: false }
    }

    #[test]
    fn the_first_window_is_that_of_section_7_2_1() {
        assert_eq!(window().cwnd, 4404);
        assert_eq!(Window::new(1448, true, 1).cwnd, 4344);
        assert_eq!(Window::new(8968, false, 1).cwnd, 2 * 8968);
        assert_eq!(Window::new(500, false, 1).cwnd, 2000);
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged_and_by_one_chunk_at_most() {
        let mut window = window();
        window.on_ack(&ack(100));
        assert_eq!(window.cwnd, 4504);
        window.on_ack(&ack(5000));
        assert_eq!(window.cwnd, 4504 + PMDCS);
    }

    #[test]
    fn slow_start_waits_where_a_condition_fails() {
        for change in [
            |ack: &mut Ack| ack.full = false,
            |ack: &mut Ack| ack.advances = false,
            |ack: &mut Ack| ack.in_fast_recovery = true,
        ] {
            let mut window = window();
            let mut ack = ack(PMDCS);
            change(&mut ack);
            window.on_ack(&ack);
            assert_eq!(window.cwnd, 4404);
        }
    }

    #[test]
    fn congestion_avoidance_adds_one_chunk_a_window() {
        let mut window = Window { cwnd: 10 * PMDCS, ssthresh: 5 * PMDCS, ..window() };
        for n in 1..=9 {
            window.on_ack(&ack(PMDCS));
            assert_eq!((window.cwnd, window.partial_bytes_acked), (10 * PMDCS, n * PMDCS));
        }
        window.on_ack(&ack(PMDCS));
        assert_eq!((window.cwnd, window.partial_bytes_acked), (11 * PMDCS, 0));
        let mut gaps = window;
        gaps.on_ack(&Ack { advances: false, ..ack(PMDCS) });
        assert_eq!((gaps.cwnd, gaps.partial_bytes_acked), (11 * PMDCS, PMDCS), "gap blocks count, too");
        // Not used: what is acknowledged is kept, up to one window.
        let unused = Ack { full: false, ..ack(30 * PMDCS) };
        window.on_ack(&unused);
        assert_eq!((window.cwnd, window.partial_bytes_acked), (11 * PMDCS, 11 * PMDCS));
        window.on_ack(&Ack { all_acknowledged: true, ..unused });
        assert_eq!(window.partial_bytes_acked, 0);
    }

    #[test]
    fn losses_lower_the_window() {
        let mut window = Window { cwnd: 20 * PMDCS, partial_bytes_acked: 7, ..window() };
        window.on_fast_retransmit();
        assert_eq!((window.cwnd, window.ssthresh, window.partial_bytes_acked), (10 * PMDCS, 10 * PMDCS, 0));
        window.on_timeout();
        assert_eq!((window.cwnd, window.ssthresh), (PMDCS, 5 * PMDCS));
        window.on_timeout();
        assert_eq!((window.cwnd, window.ssthresh), (PMDCS, 4 * PMDCS));
    }

    #[test]
    fn an_idle_path_loses_half_its_window_every_rto() {
        let mut window = Window { cwnd: 40 * PMDCS, ..window() };
        window.on_idle(0);
        assert_eq!(window.cwnd, 40 * PMDCS);
        window.on_idle(2);
        assert_eq!((window.cwnd, window.ssthresh), (10 * PMDCS, 40 * PMDCS));
        window.on_idle(u64::MAX);
        assert_eq!(window.cwnd, 4 * PMDCS);
        let mut small = Window { cwnd: PMDCS, ..window };
        small.on_idle(9);
        assert_eq!(small.cwnd, PMDCS, "to be idle does not open a window");
    }
}
