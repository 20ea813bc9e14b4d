//! Reductions that were not needed, and how they are taken back: by DSACK (RFC 3708 §3) and by timestamps (RFC 3522), for fast
//! recoveries as for timeouts, as Linux does (`tcp_try_undo_*` in `net/ipv4/tcp_input.c`).

use handfast_core::SeqNum;

use crate::cc::{self, Control, Saved, UndoRule, Window};

/// What an episode of loss recovery began with, and what it has sent again since.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    /// SND.UNA at its beginning (`undo_marker`).
    marker: u64,
    /// Octets sent again whose duplicates have not been reported (`undo_retrans`); [`None`] before the first.
    unreported: Option<u64>,
    /// The window before any reduction.
    before: Saved,
    /// The ssthresh to restore.
    ssthresh: u64,
    /// A mark has told of congestion since (`prior_ssthresh` of 0): nothing is restored.
    congested: bool,
}

/// The episode that may have to be undone, and the first retransmission's timestamp.
#[derive(Clone, Debug, Default)]
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
    /// An episode begins. `before`: from before any reduction; `under_way` octets are being repeated already.
    pub(crate) fn begin(&mut self, marker: u64, before: Saved, under_way: u64) {
        let unreported = Some(under_way).filter(|&octets| octets > 0);
        // Linux: `tcp_current_ssthresh`.
        let ssthresh = before.ssthresh.max(before.cwnd / 4 * 3);
        self.episode = Some(Episode { marker, unreported, before, ssthresh, congested: false });
    }

    /// Nothing of what has been reduced is to be taken back.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What has been reduced stands.
    pub(crate) fn forget_episode(&mut self) {
        self.episode = None;
    }

    /// F-RTO found no new data to send after all.
    pub(crate) fn give_up_new_first(&mut self) {
        self.new_first = false;
        self.frto = false;
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
        self.episode.as_ref().is_some_and(|e| e.unreported == Some(0))
    }

    /// RFC 3522 §3.2 step 4: what is acknowledged left before the first retransmission.
    pub(crate) fn is_delayed(&self, ecr: Option<u32>) -> bool {
        let older = |ecr: u32| self.stamp.is_some_and(|stamp| SeqNum(ecr).before(SeqNum(stamp)));
        self.episode.is_some() && ecr.is_some_and(older)
    }

    /// A mark tells of congestion: the window stays as it is, whatever the episode turns out to be.
    pub(crate) fn keep_reduction(&mut self) {
        if let Some(e) = &mut self.episode {
            e.congested = true;
        }
    }

    /// Restores the window, where there is something to restore. Whether there was.
    pub(crate) fn restore(&mut self, control: &mut Control, window: &mut Window) -> bool {
        let Some(e) = self.episode.take().filter(|e| !e.congested) else { return false };
        // Linux: cwnd = max (cwnd, prior_cwnd), and ssthresh never falls by it.
        let undo = cc::Undo {
            rule: UndoRule::Linux,
            cwnd: window.cwnd().max(e.before.cwnd),
            ssthresh: window.ssthresh().max(e.ssthresh),
        };
        control.on_spurious(window, &e.before, &undo);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, CongestionControl};

    #[test]
    fn the_algorithm_goes_on_as_before_but_for_the_kernel_s() {
        // RFC 9438 §4.9.1 restores CUBIC's variables; `tcp_undo_cwnd_reduction` leaves those of the kernel's modules alone.
        for (congestion_control, restored) in
            [(CongestionControl::Cubic, true), (CongestionControl::LinuxCubic, false)]
        {
            let mut control = Control::new(&Config { congestion_control, ..Config::default() });
            let mut window = Window::of(1000, 10, 100);
            let before = format!("{control:?}");
            let mut undo = Undo::default();
            undo.begin(0, control.save(&window), 0);
            control.on_loss(&mut window, 10_000);
            assert_ne!(format!("{control:?}"), before);
            undo.restore(&mut control, &mut window);
            assert_eq!((window.cwnd(), window.ssthresh()), (10_000, 100_000));
            assert_eq!(format!("{control:?}") == before, restored, "{congestion_control:?}");
        }
    }
}
