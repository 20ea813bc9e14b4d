//! The Eifel detection algorithm (RFC 3522) for timeouts.

use handfast_core::SeqNum;

/// Compares the echoed timestamp of the first acknowledgement with that of the first retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eifel {
    enabled: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Loss recovery has begun; the retransmission has not left yet.
    Armed,
    /// RFC 3522 §3.2 step 2: `RetransmitTS`.
    Retransmitted(u32),
}

impl Eifel {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, state: State::Idle }
    }

    /// Step 1: loss recovery begins (`on`), or detection ends.
    pub(crate) fn arm(&mut self, on: bool) {
        self.state = if self.enabled && on { State::Armed } else { State::Idle };
    }

    /// Step 2: the first retransmission's timestamp; a repeated timeout does not overwrite it, so that an acknowledgement
    /// of the original still shows.
    pub(crate) fn on_retransmission(&mut self, tsval: Option<u32>) {
        if let (State::Armed, Some(tsval)) = (self.state, tsval) {
            self.state = State::Retransmitted(tsval);
        }
    }

    /// Steps 3 to 5: the first acceptable acknowledgement decides.
    pub(crate) fn is_spurious(&mut self, ecr: Option<u32>) -> bool {
        let State::Retransmitted(ts) = self.state else { return false };
        self.state = State::Idle;
        // Step 5: the echo is older than the retransmission: the original has arrived.
        ecr.is_some_and(|ecr| SeqNum(ecr).before(SeqNum(ts)))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retransmitted(ts: u32) -> Eifel {
        let mut e = Eifel::new(true);
        e.arm(true);
        e.on_retransmission(Some(ts));
        e
    }

    #[test]
    fn an_older_echo_is_spurious_an_equal_one_is_not() {
        assert!(retransmitted(100).is_spurious(Some(99)));
        assert!(!retransmitted(100).is_spurious(Some(100)));
        assert!(!retransmitted(100).is_spurious(Some(101)));
        assert!(!retransmitted(100).is_spurious(None));
        assert!(retransmitted(3).is_spurious(Some(u32::MAX)), "across the wrap");
    }

    #[test]
    fn only_the_first_acknowledgement_decides() {
        let mut e = retransmitted(100);
        assert!(!e.is_done());
        assert!(!e.is_spurious(Some(100)));
        assert!(e.is_done());
        assert!(!e.is_spurious(Some(1)));
    }

    #[test]
    fn a_repeated_timeout_keeps_the_first_timestamp() {
        let mut e = retransmitted(100);
        e.on_retransmission(Some(500));
        assert!(!e.is_spurious(Some(300)));
    }

    #[test]
    fn switched_off_it_never_fires() {
        let mut e = Eifel::new(false);
        e.arm(true);
        e.on_retransmission(Some(100));
        assert!(!e.is_spurious(Some(1)));
    }
}
