//! What options say while a sub-flow opens (§3.1, §3.2), and falling back (§3.7).

use handfast_core::Instant;
use handfast_tcp::State as TcpState;
use handfast_wire::tcp::mptcp::{Capable, Join, Mptcp, reason};
use handfast_wire::tcp::{Flags, Segment};

use super::{Connection, Mode};
use crate::keys::{Key, join_hmac, left_64, left_160};
use crate::subflow::Phase;
use crate::{Event, State};

/// What becomes of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The endpoint gets it.
    Pass,
    /// It counts as lost.
    Drop,
}

impl Connection {
    /// A segment for sub-flow `at`, before its endpoint gets it.
    pub(super) fn on_handshake(&mut self, now: Instant, at: usize, segment: &Segment) -> Verdict {
        let syn = segment.flags.contains(Flags::SYN);
        if segment.flags.contains(Flags::RST) {
            return Verdict::Pass;
        }
        if syn && self.subflows[at].irs.is_none() {
            self.subflows[at].note_peer_syn(segment);
        }
        match (self.subflows[at].phase, self.mode) {
            (Phase::First, Mode::Opening) if syn => self.on_first_syn(at, segment),
            (Phase::First, Mode::Opening) => self.on_third_ack(at, segment),
            (Phase::Joining { nonce }, _) if syn => self.on_join_answer(now, at, nonce, segment),
            (Phase::Proving { .. }, _) if !syn => self.on_proven(at, segment),
            (Phase::Joined { nonce, peer_nonce }, _) if !syn => self.on_proof(at, nonce, peer_nonce, segment),
            _ => Verdict::Pass,
        }
    }

    /// SYN, or SYN/ACK.
    fn on_first_syn(&mut self, at: usize, segment: &Segment) -> Verdict {
        let answer = segment.flags.contains(Flags::ACK);
        if answer != self.initiator || (answer && segment.ack != self.subflows[at].iss + 1) {
            return Verdict::Pass;
        }
        // §3.1: B is an extension nobody knows, and without H there is no algorithm in common.
        let capable = find_capable(segment).filter(|capable| {
            let known = !capable.extended && capable.algorithms & Capable::HMAC_SHA256 != 0;
            capable.version == 1 && known && capable.sender_key.is_some() == answer
        });
        let Some(capable) = capable else {
            self.subflows[at].phase = Phase::Up;
            self.fall_back(0);
            return Verdict::Pass;
        };
        self.checksum |= capable.checksum;
        self.closed_address |= capable.closed_address;
        if let Some(key) = capable.sender_key {
            self.peer_key = Some(Key(key));
            self.mode = Mode::Multipath { confirmed: false };
            self.state = State::Multipath;
            self.subflows[at].phase = Phase::Up;
        }
        Verdict::Pass
    }

    /// The first segment after our SYN/ACK: with both keys the peer speaks Multipath TCP (§3.1); without any option of it, something
    /// on the way has taken them (§3.7).
    fn on_third_ack(&mut self, at: usize, segment: &Segment) -> Verdict {
        let subflow = &self.subflows[at];
        if self.initiator || subflow.endpoint.state() != TcpState::SynReceived || !self.acks_syn(at, segment)
        {
            return Verdict::Pass;
        }
        match find_capable(segment) {
            Some(Capable { sender_key: Some(theirs), receiver_key: Some(ours), .. })
                if ours == self.key.0 =>
            {
                self.peer_key = Some(Key(theirs));
                self.mode = Mode::Multipath { confirmed: true };
                self.state = State::Multipath;
                self.subflows[at].phase = Phase::Up;
                Verdict::Pass
            }
            // Its key comes with what was sent before: the first data repeats it.
            _ if segment.mptcp().next().is_some() => Verdict::Drop,
            _ => {
                self.subflows[at].phase = Phase::Up;
                self.fall_back(0);
                Verdict::Pass
            }
        }
    }

    fn acks_syn(&self, at: usize, segment: &Segment) -> bool {
        let subflow = &self.subflows[at];
        let after_syn = subflow.irs.is_some_and(|irs| !segment.seq.before(irs + 1));
        segment.flags.contains(Flags::ACK) && segment.ack == subflow.iss + 1 && after_syn
    }

    /// SYN/ACK to a SYN with `MP_JOIN` (§3.2): the peer proves that it has the keys.
    fn on_join_answer(&mut self, now: Instant, at: usize, nonce: u32, segment: &Segment) -> Verdict {
        if !segment.flags.contains(Flags::ACK) || segment.ack != self.subflows[at].iss + 1 {
            return Verdict::Pass;
        }
        let answer = segment.mptcp().find_map(|option| match option {
            Mptcp::Join(Join::SynAck { backup, address_id, hmac, nonce }) => {
                Some((backup, address_id, hmac, nonce))
            }
            _ => None,
        });
        let keys = self.peer_key.map(|peer| (self.key, peer));
        let proven = answer.zip(keys).filter(|&((_, _, hmac, peer_nonce), (own, peer))| {
            left_64(&join_hmac(peer, own, peer_nonce, nonce)) == hmac
        });
        let subflow = &mut self.subflows[at];
        let Some(((backup, address_id, _, peer_nonce), (own, peer))) = proven else {
            // §3.2: "the host MUST close the subflow with a RST".
            subflow.endpoint.on_segment(now, &handfast_tcp::Received::plain(segment));
            subflow.reset(reason::MPTCP_SPECIFIC);
            return Verdict::Drop;
        };
        subflow.backup.1 = backup;
        subflow.address_ids.1 = address_id;
        subflow.phase = Phase::Proving { hmac: left_160(&join_hmac(own, peer, nonce, peer_nonce)) };
        Verdict::Pass
    }

    /// Something comes after our proof: the peer has it.
    fn on_proven(&mut self, at: usize, segment: &Segment) -> Verdict {
        let subflow = &mut self.subflows[at];
        if subflow.endpoint.believes(segment) {
            subflow.phase = Phase::Up;
            subflow.prove_at = None;
            let id = subflow.id;
            self.emit(Event::SubflowUp(id));
        }
        Verdict::Pass
    }

    /// The third ACK of a sub-flow that the peer opens (§3.2).
    fn on_proof(&mut self, at: usize, nonce: u32, peer_nonce: u32, segment: &Segment) -> Verdict {
        if !self.acks_syn(at, segment) {
            return Verdict::Pass;
        }
        let proof = segment.mptcp().find_map(|option| match option {
            Mptcp::Join(Join::Ack { hmac }) => Some(hmac),
            _ => None,
        });
        let expected = self.peer_key.map(|peer| left_160(&join_hmac(peer, self.key, peer_nonce, nonce)));
        let subflow = &mut self.subflows[at];
        if proof.is_none() || proof != expected {
            subflow.reset(reason::MPTCP_SPECIFIC);
            return Verdict::Drop;
        }
        subflow.phase = Phase::Up;
        let id = subflow.id;
        self.emit(Event::SubflowUp(id));
        Verdict::Pass
    }
}

fn find_capable(segment: &Segment) -> Option<Capable> {
    segment.mptcp().find_map(|option| match option {
        Mptcp::Capable(capable) => Some(capable),
        _ => None,
    })
}
