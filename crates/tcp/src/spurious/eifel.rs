//! The Eifel detection algorithm (RFC 3522) for timeouts.

use handfast_core::SeqNum;

use super::AckView;

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

    /// Steps 3 to 5: the first acceptable acknowledgement decides. `dsack_seen`: the peer has reported a duplicate before.
    pub(crate) fn is_spurious(&mut self, ack: &AckView, dsack_seen: bool) -> bool {
        let State::Retransmitted(ts) = self.state else { return false };
        self.state = State::Idle;
        // Step 4: the echo is older than the retransmission: the original has arrived.
        let older = ack.ecr.is_some_and(|ecr| SeqNum(ecr).before(SeqNum(ts)));
        // Step 5: so it had when only its acknowledgements were lost, which is no reason to undo anything. The duplicate shows
        // in a DSACK, or, where the peer may not speak DSACK, in an acknowledgement of everything.
        older && !ack.dsack && (dsack_seen || !ack.all)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(ecr: impl Into<Option<u32>>) -> AckView {
        AckView {
            advanced: true,
            duplicate: false,
            una: 10,
            sacked_below: false,
            sacked_above: false,
            all: false,
            dsack: false,
            ecr: ecr.into(),
        }
    }

    fn retransmitted(ts: u32) -> Eifel {
        let mut e = Eifel::new(true);
        e.arm(true);
        e.on_retransmission(Some(ts));
        e
    }

    #[test]
    fn an_older_echo_is_spurious_an_equal_one_is_not() {
        assert!(retransmitted(100).is_spurious(&echo(99), false));
        assert!(!retransmitted(100).is_spurious(&echo(100), false));
        assert!(!retransmitted(100).is_spurious(&echo(101), false));
        assert!(!retransmitted(100).is_spurious(&echo(None), false));
        assert!(retransmitted(3).is_spurious(&echo(u32::MAX), false), "across the wrap");
    }

    #[test]
    fn only_the_first_acknowledgement_decides() {
        let mut e = retransmitted(100);
        assert!(!e.is_done());
        assert!(!e.is_spurious(&echo(100), false));
        assert!(e.is_done());
        assert!(!e.is_spurious(&echo(1), false));
    }

    #[test]
    fn a_repeated_timeout_keeps_the_first_timestamp() {
        let mut e = retransmitted(100);
        e.on_retransmission(Some(500));
        assert!(!e.is_spurious(&echo(300), false));
    }

    #[test]
    fn switched_off_it_never_fires() {
        let mut e = Eifel::new(false);
        e.arm(true);
        e.on_retransmission(Some(100));
        assert!(!e.is_spurious(&echo(1), false));
    }

    #[test]
    fn when_only_the_acknowledgements_were_lost_nothing_is_undone() {
        let all = AckView { all: true, ..echo(99) };
        assert!(!retransmitted(100).is_spurious(&all, false));
        assert!(retransmitted(100).is_spurious(&all, true), "the peer would have said so");
        let dsack = AckView { dsack: true, ..echo(99) };
        assert!(!retransmitted(100).is_spurious(&dsack, false));
        assert!(!retransmitted(100).is_spurious(&dsack, true));
    }
}
