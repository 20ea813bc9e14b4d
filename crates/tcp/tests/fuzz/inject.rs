//! A blind attacker: segments that RFC 9293 §3.10.7.4 and RFC 5961 answer or ignore, and that change nothing else.

use bytes::Bytes;
use handfast_tcp::{Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::case::{Blind, Side};
use crate::world::{End, World};

impl World {
    pub fn inject(&mut self, to: Side, what: Blind) {
        let now = self.now;
        let end = self.end(to);
        if matches!(
            end.endpoint.state(),
            State::Closed | State::Listen | State::SynSent | State::SynReceived | State::TimeWait
        ) {
            return;
        }
        if matches!(what, Blind::Stale { .. } | Blind::Untimed { .. }) && end.ledger.first_ts().is_none() {
            return;
        }
        let segment = forge(end, what);
        let facts =
            |end: &End| (end.endpoint.state(), end.endpoint.send_positions(), end.endpoint.readable());
        let before = facts(end);
        end.endpoint.on_segment(now, &Received::plain(&segment));
        assert_eq!(facts(end), before, "{to:?}: {what:?} changed the connection");
    }
}

fn forge(end: &End, what: Blind) -> Segment {
    let (una, _, max) = end.endpoint.send_positions();
    let ledger = &end.ledger;
    let next = ledger.next_expected(&end.endpoint);
    let window = ledger.offered.saturating_sub(next);
    // The endpoint's edge may lie further by what scaling rounds off.
    let beyond = ledger.offered.max(next) + (1 << ledger.shift());
    let garbage = |len: u8| Payload::Bytes(Bytes::from(vec![0xEE; usize::from(len) + 1]));
    let at = |position: u64, flags: Flags| Segment {
        src_port: end.endpoint.remote_port(),
        dst_port: end.endpoint.local_port(),
        seq: ledger.peer_seq(position),
        ack: ledger.iss + una as u32,
        flags,
        window: 1000,
        timestamps: ledger.newest_ts().map(|val| Timestamps { val, ecr: 0 }),
        ..Segment::EMPTY
    };
    match what {
        Blind::Reset { off, behind: true } => {
            at(next.wrapping_sub(1 + u64::from(off)), Flags::RST | Flags::ACK)
        }
        Blind::Reset { off, behind: false } => at(next + 1 + u64::from(off) % window.max(1), Flags::RST),
        Blind::Syn { off } => at(next + u64::from(off), Flags::SYN),
        Blind::Old { len } => {
            let payload = garbage(len);
            let segment = at(next.wrapping_sub(payload.len() as u64), Flags::ACK);
            Segment { payload, ..segment }
        }
        Blind::Beyond { off, len } => {
            Segment { payload: garbage(len), ..at(beyond + u64::from(off), Flags::ACK | Flags::FIN) }
        }
        Blind::AckOfUnsent { off, len } => Segment {
            ack: ledger.iss + (max + 1 + u64::from(off)) as u32,
            payload: garbage(len),
            ..at(next, Flags::ACK)
        },
        Blind::Stale { off, len } => {
            let val = ledger.first_ts().unwrap_or(0).wrapping_sub(1 + u32::from(off));
            let timestamps = Some(Timestamps { val, ecr: 0 });
            Segment { timestamps, payload: garbage(len), ..at(next, Flags::ACK) }
        }
        Blind::Untimed { len } => Segment { timestamps: None, payload: garbage(len), ..at(next, Flags::ACK) },
    }
}
