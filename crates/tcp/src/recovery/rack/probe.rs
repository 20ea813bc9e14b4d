//! Tail loss probes (RFC 8985 §7): when to probe, and what the answer to the probe tells.

use handfast_core::{Duration, Instant};

/// RFC 8985 §7.2: the probe timeout before a sample of the round-trip time.
const INITIAL_PTO: Duration = Duration::from_secs(1);

/// `TLP.end_seq` and `TLP.is_retrans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outstanding {
    end: u64,
    is_retrans: bool,
}

/// The probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    outstanding: Option<Outstanding>,
    /// The timeout has passed: the probe goes out next.
    pub(crate) due: bool,
}

/// An acknowledgement, as far as a probe is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// SND.UNA after it.
    pub(crate) una: u64,
    /// The end of the octets that its DSACK block reports.
    pub(crate) dsack: Option<u64>,
    /// It changes nothing: a duplicate "without any SACK option".
    pub(crate) bare_duplicate: bool,
}

/// RFC 8985 §7.2 `TLP_calc_PTO`, without the bound of the RTO's expiry. `allowance`: where one segment is in flight, by how much the
/// peer may delay its acknowledgement.
pub(crate) fn pto(srtt: Duration, allowance: Duration) -> Duration {
    if srtt == Duration::ZERO { INITIAL_PTO } else { srtt * 2 + allowance }
}

impl Probe {
    /// RFC 8985 §7.2: no second probe before the first is answered.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Whether the probe ends at `end`: a DSACK that does reports its duplicate.
    pub(crate) fn is_at(&self, end: u64) -> bool {
        self.outstanding.is_some_and(|p| p.end == end)
    }

    /// §7.3: the probe has left, and SND.NXT is `end` after it.
    pub(crate) fn sent(&mut self, end: u64, is_retrans: bool) {
        self.due = false;
        self.outstanding = Some(Outstanding { end, is_retrans });
    }

    /// Recovery begins: it makes good what the probe might have.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// §7.4.2 `TLP_process_ack`: the end of what the probe has repaired, a loss that nobody noticed.
    pub(crate) fn repaired(&mut self, answer: &Answer) -> Option<u64> {
        let probe = self.outstanding.filter(|p| answer.una >= p.end)?;
        let original_arrived = !probe.is_retrans || answer.dsack == Some(probe.end);
        let beyond = answer.una > probe.end;
        if original_arrived || beyond || answer.bare_duplicate {
            self.outstanding = None;
        }
        (!original_arrived && beyond).then_some(probe.end)
    }
}

/// When the timer of a probe that may go now expires (§7.2): no later than the RTO.
pub(crate) fn deadline(now: Instant, pto: Duration, rto_expiry: Instant) -> Instant {
    (now + pto).min(rto_expiry)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK: Answer = Answer { una: 100, dsack: None, bare_duplicate: false };

    fn probed(is_retrans: bool) -> Probe {
        let mut p = Probe::default();
        p.sent(100, is_retrans);
        p
    }

    #[test]
    fn only_an_advance_beyond_a_retransmitted_probe_is_a_repair() {
        for (is_retrans, answer, repaired, outstanding) in [
            (true, Answer { una: 99, ..ACK }, false, true),
            (true, ACK, false, true),
            (true, Answer { dsack: Some(100), ..ACK }, false, false),
            (true, Answer { una: 101, dsack: Some(100), ..ACK }, false, false),
            (true, Answer { bare_duplicate: true, ..ACK }, false, false),
            (true, Answer { una: 101, ..ACK }, true, false),
            (true, Answer { una: 101, dsack: Some(50), ..ACK }, true, false),
            (false, ACK, false, false),
            (false, Answer { una: 101, ..ACK }, false, false),
        ] {
            let mut p = probed(is_retrans);
            assert_eq!(p.repaired(&answer), repaired.then_some(100), "{answer:?}");
            assert_eq!(p.is_outstanding(), outstanding, "{answer:?}");
        }
    }

    #[test]
    fn twice_the_round_trip_and_an_allowance_for_one_segment() {
        let ms = Duration::from_millis;
        assert_eq!(pto(ms(100), Duration::ZERO), ms(200));
        assert_eq!(pto(ms(100), ms(200)), ms(400));
        assert_eq!(pto(Duration::ZERO, ms(200)), ms(1000));
    }
}
