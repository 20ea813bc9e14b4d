//! Proportional rate reduction (RFC 6937): how fast the window falls to ssthresh within a recovery.
//!
//! As Linux has it: with the slow-start reduction bound where an acknowledgement advances SND.UNA and nothing new is lost, the
//! conservative bound otherwise, and the window before the recovery for `RecoverFS`.

/// `prr_delivered`, `prr_out` and `RecoverFS`, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    delivered: u64,
    out: u64,
    before: u64,
}

/// What the acknowledgement of the moment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// `DeliveredData`: octets newly acknowledged and SACKed.
    pub(crate) octets: u64,
    /// SND.UNA has advanced, and nothing more was found lost.
    pub(crate) progress: bool,
    /// Octets in flight after it.
    pub(crate) pipe: u64,
}

impl Prr {
    /// RFC 6937 §3, at the beginning of recovery; `cwnd` is the window before it.
    pub(crate) fn begin(cwnd: u64) -> Self {
        Self { delivered: 0, out: 0, before: cwnd.max(1) }
    }

    /// Octets have left.
    pub(crate) fn sent(&mut self, octets: u64) {
        self.out += octets;
    }

    /// RFC 6937 §3, on every acknowledgement in recovery: cwnd.
    pub(crate) fn cwnd(&mut self, ssthresh: u64, smss: u64, d: Delivery) -> u64 {
        self.delivered += d.octets;
        let mut sndcnt = if d.pipe > ssthresh {
            // sndcnt = CEIL (prr_delivered * ssthresh / RecoverFS) - prr_out, in whole segments as in Linux.
            let share = u128::from(self.delivered) * u128::from(ssthresh) / u128::from(self.before);
            let share = u64::try_from(share).unwrap_or(u64::MAX / 2);
            share.next_multiple_of(smss).saturating_sub(self.out)
        } else {
            // CRB: limit = MAX (prr_delivered - prr_out, DeliveredData); SSRB: + MSS. sndcnt = MIN (ssthresh - pipe, limit)
            let limit = self.delivered.saturating_sub(self.out).max(d.octets);
            (limit + if d.progress { smss } else { 0 }).min(ssthresh - d.pipe)
        };
        if self.out == 0 {
            // RFC 6937 §3: "Force a fast retransmit upon entering recovery".
            sndcnt = sndcnt.max(smss);
        }
        d.pipe + sndcnt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_ssthresh_half_as_much_leaves_as_arrives() {
        let mut prr = Prr::begin(20_000);
        let mut sent = 0;
        let mut pipe = 18_000;
        for arrived in 1..=8_u64 {
            pipe -= 1000;
            let cwnd = prr.cwnd(10_000, 1000, Delivery { octets: 1000, progress: false, pipe });
            let out = (cwnd - pipe) / 1000 * 1000;
            prr.sent(out);
            pipe += out;
            sent += out;
            assert_eq!(sent, arrived.div_ceil(2) * 1000, "CEIL ({arrived} / 2)");
        }
    }

    #[test]
    fn below_ssthresh_as_much_leaves_as_arrives_and_one_more_with_progress() {
        for (progress, expected) in [(false, 4000), (true, 5000)] {
            let mut prr = Prr::begin(20_000);
            prr.sent(1000);
            assert_eq!(prr.cwnd(10_000, 1000, Delivery { octets: 1000, progress, pipe: 3000 }), expected);
        }
        let mut prr = Prr::begin(20_000);
        prr.sent(1000);
        let d = Delivery { octets: 8000, progress: true, pipe: 9_500 };
        assert_eq!(prr.cwnd(10_000, 1000, d), 10_000, "ssthresh is the bound");
    }

    #[test]
    fn the_first_retransmission_leaves_at_once() {
        let mut prr = Prr::begin(20_000);
        let d = Delivery { octets: 0, progress: false, pipe: 19_000 };
        assert_eq!(prr.cwnd(10_000, 1000, d), 20_000);
        prr.sent(1000);
        assert_eq!(prr.cwnd(10_000, 1000, d), 19_000);
    }
}
