//! The two-way handshake at the receiving edge (`[sdtp]` §III-A): what it keeps of a connection that opens, and the closing ACK that
//! it makes in the client's place.

use handfast_core::{Instant, SeqNum};
use handfast_tcp::MAX_SHIFT;
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Packet};

use super::config::Config;
use super::enforced::Enforced;

/// Multipath TCP (RFC 8684 §3), and encryption negotiation (RFC 8547 §3).
const OF_THE_CLIENT: [u8; 2] = [30, 69];

/// Whether the closing ACK has to say what only the client knows: RFC 8684 §3.1, RFC 8547 §4.1.
pub(super) fn only_the_client_answers(syn_ack: &Segment) -> bool {
    OF_THE_CLIENT.iter().any(|&kind| syn_ack.has_unknown_option(kind))
}

/// A connection that opens, at the edge of the server.
#[derive(Debug)]
pub(super) struct Opening {
    syn: Packet,
    /// The server's answer.
    syn_ack: Option<Packet>,
    /// Whether the controller has approved the reverse path.
    approved: bool,
}

impl Opening {
    /// The controller has sent the client's SYN.
    pub(super) fn new(syn: Packet) -> Self {
        Self { syn, syn_ack: None, approved: false }
    }

    /// Whether the closing ACK has been made.
    pub(super) fn is_closed(&self) -> bool {
        self.approved && self.syn_ack.is_some()
    }

    /// Whether the server got its closing ACK from here.
    pub(super) fn has_answered(&self) -> bool {
        self.approved && self.closing_ack().is_some()
    }

    /// The server has answered: what goes back to it at once, for its first answer has been approved already.
    pub(super) fn on_syn_ack(&mut self, packet: &Packet) -> Option<Packet> {
        self.syn_ack = Some(packet.clone());
        self.approved.then(|| self.closing_ack()).flatten()
    }

    /// The window that the server may use of the client's, if this edge is to say so: `syn_ack` is its answer to the SYN that left
    /// at `since`.
    pub(super) fn enforces(
        &self,
        since: Instant,
        syn_ack: &Segment,
        config: &Config,
    ) -> Option<Box<Enforced>> {
        let Body::Tcp(syn) = &self.syn.body else { return None };
        config.enforces().then(|| Box::new(Enforced::new(since, syn, syn_ack, syn_ack.seq + 1)))
    }

    /// The client's SYN goes to the server again. The server drops an ACK that is older than it (RFC 7323 §5.3, R1).
    pub(super) fn on_syn(&mut self, syn: &Packet) {
        let val = |packet: &Packet| match &packet.body {
            Body::Tcp(segment) => segment.timestamps.map(|timestamps| SeqNum(timestamps.val)),
            _ => None,
        };
        if val(syn).zip(val(&self.syn)).is_some_and(|(new, old)| new.after(old)) {
            self.syn = syn.clone();
        }
    }

    /// The client's SYN has come again: the answer that it waits for, which was lost on its way to it. The server has left
    /// SYN-RECEIVED, and would not send it again (RFC 9293 §3.10.7.4).
    pub(super) fn answer_again(&self, syn: &Packet) -> Option<&Packet> {
        let again = matches!((&syn.body, &self.syn.body), (Body::Tcp(a), Body::Tcp(b)) if a.seq == b.seq);
        self.syn_ack.as_ref().filter(|_| again && self.approved)
    }

    /// The answer, if the server counts it as received.
    pub(super) fn into_answer(self) -> Option<Packet> {
        self.syn_ack.filter(|_| self.approved)
    }

    /// The reverse path is there: the closing ACK for the server.
    pub(super) fn approve(&mut self) -> Option<Packet> {
        self.approved = true;
        self.closing_ack()
    }

    /// `[sdtp]` §III-A step 5: what the client would answer, as far as its SYN tells.
    fn closing_ack(&self) -> Option<Packet> {
        let (Body::Tcp(syn), Body::Tcp(syn_ack)) = (&self.syn.body, &self.syn_ack.as_ref()?.body) else {
            return None;
        };
        if only_the_client_answers(syn_ack) {
            return None;
        }
        // RFC 7323 §2.2: the window of a SYN is not scaled, all others are, if both ends agree.
        let shift = syn.window_scale.filter(|_| syn_ack.window_scale.is_some()).unwrap_or(0);
        // RFC 7323 §3.2: the client's clock has not gone backwards since its SYN.
        let both = syn.timestamps.zip(syn_ack.timestamps);
        let timestamps = both.map(|(client, server)| Timestamps { val: client.val, ecr: server.val });
        let ack = Segment {
            src_port: syn.src_port,
            dst_port: syn.dst_port,
            seq: syn_ack.ack,
            ack: syn_ack.seq + 1,
            flags: Flags::ACK,
            window: syn.window >> shift.min(MAX_SHIFT),
            timestamps,
            ..Segment::EMPTY
        };
        let Packet { ethernet, src, dst, hop_limit, flow_label, .. } = self.syn;
        Some(Packet { ethernet, hop_limit, flow_label, ..Packet::tcp(src, dst, ack) })
    }
}

/// The client's ACK that the sending edge drops, because the receiving edge has made it: nothing but the acknowledgment of the
/// SYN-ACK. Data, window updates and what a Fast Open sends pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Redundant {
    seq: SeqNum,
    ack: SeqNum,
}

impl Redundant {
    /// The one that answers this SYN-ACK.
    pub(super) fn answer_to(syn_ack: &Segment) -> Self {
        Self { seq: syn_ack.ack, ack: syn_ack.seq + 1 }
    }

    /// Whether it is this segment.
    pub(super) fn is(self, segment: &Segment) -> bool {
        segment.flags == Flags::ACK
            && segment.payload.is_empty()
            && segment.sack.is_empty()
            && (segment.seq, segment.ack) == (self.seq, self.ack)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use handfast_wire::Payload;
    use handfast_wire::tcp::RareOptions;

    use super::*;

    fn packet(segment: Segment) -> Packet {
        let [src, dst] = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(192, 0, 2, host)));
        Packet::tcp(src, dst, segment)
    }

    fn syn() -> Segment {
        Segment {
            src_port: 5,
            dst_port: 6,
            seq: SeqNum(u32::MAX),
            flags: Flags::SYN,
            window: 64_000,
            window_scale: Some(7),
            timestamps: Some(Timestamps { val: 11, ecr: 0 }),
            ..Segment::EMPTY
        }
    }

    fn syn_ack() -> Segment {
        Segment {
            src_port: 6,
            dst_port: 5,
            seq: SeqNum(100),
            ack: SeqNum(0),
            flags: Flags::SYN | Flags::ACK,
            window_scale: Some(3),
            timestamps: Some(Timestamps { val: 22, ecr: 11 }),
            ..Segment::EMPTY
        }
    }

    #[test]
    fn what_only_the_client_can_answer_is_left_to_it() {
        for (kind, is_its) in [(30, true), (69, true), (253, false)] {
            let rare = RareOptions { unknown: [kind, 4, 0, 1].into(), ..RareOptions::default() };
            let syn_ack = Segment { rare: Some(Box::new(rare)), ..syn_ack() };
            assert_eq!(only_the_client_answers(&syn_ack), is_its, "{kind}");
            let mut opening = Opening::new(packet(syn()));
            opening.on_syn_ack(&packet(syn_ack));
            assert_eq!((opening.approve().is_none(), opening.has_answered()), (is_its, !is_its), "{kind}");
        }
    }

    fn closing(packet: Option<Packet>) -> Segment {
        let Some(Packet { body: Body::Tcp(segment), .. }) = packet else { panic!("no segment") };
        segment
    }

    #[test]
    fn the_closing_ack_is_the_one_that_the_client_would_send() {
        let mut opening = Opening::new(packet(syn()));
        assert_eq!(opening.on_syn_ack(&packet(syn_ack())), None, "the controller has to approve it first");
        let ack = closing(opening.approve());
        assert_eq!((ack.src_port, ack.dst_port, ack.seq, ack.ack), (5, 6, SeqNum(0), SeqNum(101)));
        assert_eq!((ack.flags, ack.window), (Flags::ACK, 500));
        assert_eq!(ack.timestamps, Some(Timestamps { val: 11, ecr: 22 }));
        assert!(Redundant::answer_to(&syn_ack()).is(&ack));
    }

    #[test]
    fn what_only_one_end_offers_is_not_used() {
        let mut opening = Opening::new(packet(syn()));
        let plain = Segment { window_scale: None, timestamps: None, ..syn_ack() };
        opening.on_syn_ack(&packet(plain));
        let ack = closing(opening.approve());
        assert_eq!((ack.window, ack.timestamps), (64_000, None));
    }

    #[test]
    fn a_repeated_syn_ack_is_answered_at_once_and_a_repeated_syn_with_it() {
        let mut opening = Opening::new(packet(syn()));
        assert_eq!(opening.approve(), None, "there is no answer yet");
        let mut opening = Opening { approved: false, ..opening };
        opening.on_syn_ack(&packet(syn_ack()));
        assert_eq!(opening.answer_again(&packet(syn())), None, "the server is still in SYN-RECEIVED");
        opening.approve();
        assert_eq!(opening.answer_again(&packet(syn())), Some(&packet(syn_ack())));
        let newer = Segment { seq: SeqNum(7), ..syn() };
        assert_eq!(opening.answer_again(&packet(newer)), None, "it is another connection's");
        assert!(opening.on_syn_ack(&packet(syn_ack())).is_some());
    }

    #[test]
    fn only_the_pure_matching_ack_is_redundant() {
        let redundant = Redundant::answer_to(&syn_ack());
        let ack = Segment { seq: SeqNum(0), ack: SeqNum(101), flags: Flags::ACK, ..Segment::EMPTY };
        assert!(redundant.is(&ack));
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 1 };
        for other in [
            Segment { seq: SeqNum(1), ..ack.clone() },
            Segment { ack: SeqNum(102), ..ack.clone() },
            Segment { flags: Flags::ACK | Flags::FIN, ..ack.clone() },
            Segment { flags: Flags::RST, ..ack.clone() },
            Segment { payload, ..ack },
        ] {
            assert!(!redundant.is(&other), "{other:?}");
        }
    }
}
