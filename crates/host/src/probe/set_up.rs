//! How long it takes to set a connection up.

use handfast_core::{Duration, Instant, SeqNum};
use handfast_tcp::State;
use handfast_wire::tcp::Segment;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that opens it.
    Client,
    /// The one that listens.
    Server,
}

/// From the first SYN until both ends hold their packet: the client the SYN-ACK, the server the ACK that closes the handshake,
/// or data that acknowledges its SYN (RFC 9293 §3.5).
#[derive(Debug, Default)]
pub(super) struct SetUp {
    /// The initial sequence number of the connection, and when its first SYN was sent.
    syn: Option<(SeqNum, Instant)>,
    /// When the client and the server held their packet.
    holds: [Option<Instant>; 2],
}

impl SetUp {
    /// The client sends a SYN: its first, the same again, or that of another connection after one has failed.
    pub(super) fn on_syn(&mut self, now: Instant, seq: SeqNum) {
        let again = self.syn.is_some_and(|(first, _)| first == seq);
        if !again && self.took().is_none() {
            *self = Self { syn: Some((seq, now)), holds: [None; 2] };
        }
    }

    /// A segment has come to an end, which is in that state now.
    pub(super) fn on_state(&mut self, now: Instant, end: End, state: State) {
        let without = [State::Closed, State::Listen, State::SynSent, State::SynReceived];
        if !without.contains(&state) {
            self.holds[end as usize].get_or_insert(now);
        }
    }

    /// The client asks its kernel for a connection, for the first time or after one has failed.
    pub(super) fn on_connect(&mut self, now: Instant) {
        if self.took().is_none() {
            *self = Self { syn: Some((SeqNum(0), now)), holds: [None; 2] };
        }
    }

    /// A kernel says that an end holds its packet.
    pub(super) fn on_open(&mut self, now: Instant, end: End) {
        self.holds[end as usize].get_or_insert(now);
    }

    /// Where a segment's bytes are in what the client sends, and how many there are, by its sequence number: nodes may have made
    /// real bytes of them. Nothing of what is beyond 2 GiB.
    pub(super) fn position(&self, segment: &Segment) -> Option<(u64, u64)> {
        let offset = segment.seq.distance(self.syn?.0 + 1);
        Some((u64::try_from(offset).ok()?, segment.payload.len() as u64))
    }

    /// How long it took; [`None`]: an end holds no packet yet.
    pub(super) fn took(&self) -> Option<Duration> {
        let [client, server] = self.holds;
        Some(client?.max(server?).since(self.syn?.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn kernels_say_when_they_are_asked_and_when_they_have_it() {
        let mut set_up = SetUp::default();
        set_up.on_connect(at(5));
        set_up.on_connect(at(10));
        set_up.on_open(at(90), End::Client);
        assert_eq!(set_up.took(), None);
        set_up.on_open(at(130), End::Server);
        set_up.on_open(at(140), End::Server);
        set_up.on_connect(at(200));
        assert_eq!(
            set_up.took(),
            Some(Duration::from_millis(120)),
            "the later of both, from the last attempt"
        );
    }

    #[test]
    fn it_lasts_from_the_first_syn_to_the_later_of_both_packets() {
        let mut set_up = SetUp::default();
        set_up.on_syn(at(10), SeqNum(7));
        set_up.on_syn(at(1010), SeqNum(7));
        set_up.on_state(at(1070), End::Server, State::SynReceived);
        set_up.on_state(at(1130), End::Client, State::Established);
        assert_eq!(set_up.took(), None);
        set_up.on_state(at(1190), End::Server, State::Established);
        set_up.on_state(at(1250), End::Client, State::FinWait1);
        set_up.on_state(at(1250), End::Server, State::CloseWait);
        assert_eq!(set_up.took(), Some(Duration::from_millis(1180)));
        // The next connection of an application that reconnects.
        set_up.on_syn(at(9000), SeqNum(8));
        assert_eq!(set_up.took(), Some(Duration::from_millis(1180)));
    }

    #[test]
    fn a_connection_that_failed_leaves_the_next_one_to_be_measured() {
        let mut set_up = SetUp::default();
        set_up.on_syn(at(0), SeqNum(7));
        set_up.on_state(at(60), End::Server, State::SynReceived);
        set_up.on_state(at(120), End::Client, State::Closed);
        set_up.on_syn(at(500), SeqNum(8));
        set_up.on_state(at(620), End::Client, State::Established);
        set_up.on_state(at(680), End::Server, State::Established);
        assert_eq!(set_up.took(), Some(Duration::from_millis(180)));
    }
}
