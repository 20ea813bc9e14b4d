//! Reductions that were not needed, and how they are taken back: by DSACK (RFC 3708 §3) and by timestamps (RFC 3522), for fast
//! recoveries as for timeouts, as Linux does (`tcp_try_undo_*` in `net/ipv4/tcp_input.c`).

use handfast_core::SeqNum;

use crate::cc;
use crate::cc::window::Window;

/// What an episode of loss recovery began with, and what it has sent again since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Episode {
    /// SND.UNA at its beginning (`undo_marker`).
    marker: u64,
    /// Octets sent again whose duplicates have not been reported (`undo_retrans`); [`None`] before the first.
    unreported: Option<u64>,
    cwnd: u64,
    ssthresh: u64,
    growth: cc::State,
}

/// The episode that may have to be undone, and the first retransmission's timestamp.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    episode: Option<Episode>,
    /// `retrans_stamp`: `TSval` of the first retransmission since all was well.
    stamp: Option<u32>,
    /// The kernel's F-RTO is on (`frto`).
    pub(crate) frto: bool,
    /// F-RTO lets new data go before what is lost, until the next acknowledgement.
    pub(crate) new_first: bool,
}

impl Undo {
    /// An episode begins. `window` and `growth` are from before any reduction; `under_way` octets are being repeated already.
    pub(crate) fn begin(&mut self, marker: u64, window: &Window, growth: cc::State, under_way: u64) {
        let unreported = Some(under_way).filter(|&octets| octets > 0);
        // Linux: `tcp_current_ssthresh`.
        let ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
        self.episode = Some(Episode { marker, unreported, cwnd: window.cwnd, ssthresh, growth });
    }

    /// All is well, or nobody may undo any more.
    pub(crate) fn forget_stamp(&mut self) {
        self.stamp = None;
    }

    /// `octets` go again, in a segment with this `TSval`.
    pub(crate) fn resent(&mut self, octets: u64, tsval: Option<u32>) {
        if self.stamp.is_none() {
            self.stamp = tsval;
        }
        if let Some(e) = &mut self.episode {
            e.unreported = Some(e.unreported.unwrap_or(0) + octets);
        }
    }

    /// A DSACK reports octets of ours that ended at `end`.
    pub(crate) fn duplicate(&mut self, octets: u64, end: u64) {
        if let Some(e) = &mut self.episode
            && end > e.marker
            && let Some(left) = &mut e.unreported
        {
            *left = left.saturating_sub(octets);
        }
    }

    /// RFC 3708 §3: every retransmission of the episode has been reported a duplicate.
    pub(crate) fn all_duplicates(&self) -> bool {
        self.episode.is_some_and(|e| e.unreported == Some(0))
    }

    /// RFC 3522 §3.2 step 4: what is acknowledged left before the first retransmission.
    pub(crate) fn is_delayed(&self, ecr: Option<u32>) -> bool {
        let older = |ecr: u32| self.stamp.is_some_and(|stamp| SeqNum(ecr).before(SeqNum(stamp)));
        self.episode.is_some() && ecr.is_some_and(older)
    }

    /// Restores the window; false where there was nothing to restore.
    pub(crate) fn restore(&mut self, window: &mut Window, growth: &mut cc::State) -> bool {
        let Some(e) = self.episode.take() else { return false };
        // Linux: cwnd = max (cwnd, prior_cwnd), and ssthresh never falls by it; the growth function goes on (RFC 9438 §4.9),
        // but for the kernel's own, which keep what the episode made of them.
        window.set_cwnd(window.cwnd.max(e.cwnd));
        window.ssthresh = window.ssthresh.max(e.ssthresh);
        if !growth.is_kernels() {
            *growth = e.growth;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Growth};

    #[test]
    fn growth_goes_on_as_before_but_for_the_kernel_s() {
        // RFC 9438 §4.9.1 restores CUBIC's variables; `tcp_undo_cwnd_reduction` leaves those of the kernel's modules alone.
        for (growth, restored) in [(Growth::Cubic, true), (Growth::LinuxCubic, false)] {
            let mut state = cc::build(&Config { growth, ..Config::default() });
            let mut window = Window::new(&Config::default(), 1000);
            let before = format!("{state:?}");
            let mut undo = Undo::default();
            undo.begin(0, &window, state, 0);
            state.on_congestion(&window, 10_000);
            assert_ne!(format!("{state:?}"), before);
            assert!(undo.restore(&mut window, &mut state));
            assert_eq!(format!("{state:?}") == before, restored, "{growth:?}");
        }
    }
}
