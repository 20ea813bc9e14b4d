//! What segments bring (§3.3).

use handfast_core::Instant;
use handfast_tcp::State as TcpState;
use handfast_wire::Payload;
use handfast_wire::tcp::mptcp::{Dss, Mapping, Mptcp, checksum, reason};
use handfast_wire::tcp::{Flags, Segment};

use super::handshake::Verdict;
use super::{Connection, Mode};
use crate::data::position;
use crate::subflow::mappings::{Run, most_mappings};
use crate::subflow::{Phase, Subflow};
use crate::{Failure, Received};

impl Connection {
    /// A segment has arrived; its checksum is right. False: it belongs to no sub-flow of this connection.
    pub fn on_segment(&mut self, now: Instant, received: &Received<'_>) -> bool {
        let Some(at) = self.find(received.flow) else { return false };
        let segment = received.tcp.segment;
        if self.is_closed_fast(segment) {
            self.on_fast_close(now);
            return true;
        }
        let waited = self.subflows[at].endpoint.state() == TcpState::SynReceived;
        if self.on_handshake(now, at, segment) == Verdict::Drop {
            self.settle(now);
            return true;
        }
        let opens = waited && self.subflows[at].phase == Phase::Up;
        let believed = opens || self.subflows[at].endpoint.believes(segment);
        if matches!(self.mode, Mode::Multipath { .. })
            && self.subflows[at].phase != Phase::First
            && believed
            && self.on_options(now, at, segment) == Verdict::Drop
        {
            self.settle(now);
            return true;
        }
        if segment.flags.contains(Flags::RST) {
            self.note_reason(at, segment);
        }
        self.subflows[at].endpoint.on_segment(now, &received.tcp);
        if opens {
            // §3.2: the peer learns that its proof is there; §3.1: the first one learns that we speak Multipath TCP.
            self.subflows[at].endpoint.acknowledge();
        }
        self.take_window(at, segment);
        self.take_data(at);
        self.settle(now);
        true
    }

    /// The options of a segment that counts.
    fn on_options(&mut self, now: Instant, at: usize, segment: &Segment) -> Verdict {
        let (mut any, mut room) = (false, true);
        for option in segment.mptcp() {
            any = true;
            match option {
                Mptcp::Dss(dss) => {
                    self.confirm();
                    room &= self.on_dss(now, at, segment, &dss);
                }
                // §3.1: the first data of the connection.
                Mptcp::Capable(capable) if !self.initiator => {
                    if let Some((len, checksum)) = capable.mapped {
                        let run = Run { sub: 0, data: 0, len: u64::from(len), checksum };
                        room &= self.map(at, run);
                    }
                }
                option => self.on_signal(at, option),
            }
        }
        if !room {
            return Verdict::Drop;
        }
        self.on_unmapped(at, segment, any)
    }

    /// The peer has our key: `DATA_FIN` may have waited for that (§3.1).
    fn confirm(&mut self) {
        if self.mode == (Mode::Multipath { confirmed: false }) {
            self.mode = Mode::Multipath { confirmed: true };
            if self.tx.fin().is_some() {
                self.subflows.iter_mut().for_each(|subflow| subflow.endpoint.acknowledge());
            }
        }
    }

    /// False: there is no room to remember what it says.
    fn on_dss(&mut self, now: Instant, at: usize, segment: &Segment, dss: &Dss) -> bool {
        if let Some(ack) = dss.ack {
            let first = self.first_sent();
            let ack = position(ack.whole(first.wrapping_add(self.tx.una())), first);
            let window = self.subflows[at].peer_window(segment);
            if let Ok(ack) = u64::try_from(ack)
                && self.tx.on_ack(ack, window)
            {
                self.restart_data_timer(now);
            }
        }
        match (dss.mapping, self.first_come()) {
            (Some(mapping), Some(first)) => self.on_mapping(at, &mapping, dss.fin, first),
            _ => true,
        }
    }

    fn on_mapping(&mut self, at: usize, mapping: &Mapping, fin: bool, first: u64) -> bool {
        let near = first.wrapping_add(self.rx.next());
        let Ok(data) = u64::try_from(position(mapping.data_seq.whole(near), first)) else { return true };
        if mapping.len == 0 {
            // §3.7: an infinite mapping; there is one sub-flow, and will be no other.
            if self.is_alone() {
                self.fall_back(0);
            }
            return true;
        }
        let len = u64::from(mapping.len) - u64::from(fin);
        if fin && self.rx.on_fin(data + len) {
            // §3.3.3: it is acknowledged at once.
            self.subflows[at].endpoint.acknowledge();
        }
        let Some(sub) = self.subflows[at].come_position(mapping.subflow_seq) else { return true };
        len == 0 || self.map(at, Run { sub, data, len, checksum: mapping.checksum })
    }

    /// Which data octets of the sub-flow are; what lies behind, or beyond all that may come, is not remembered.
    fn map(&mut self, at: usize, run: Run) -> bool {
        let capacity = self.config.tcp.receive_buffer.get();
        let checksum = run.checksum.filter(|_| self.checksum);
        let subflow = &mut self.subflows[at];
        let concerns = run.end() > subflow.read && run.sub <= subflow.read + capacity;
        !concerns || subflow.come.insert(Run { checksum, ..run }, subflow.read, most_mappings(capacity))
    }

    /// A segment without word of what its octets are: §3.7. `any`: it has some option of Multipath TCP.
    fn on_unmapped(&mut self, at: usize, segment: &Segment, any: bool) -> Verdict {
        let subflow = &mut self.subflows[at];
        let begins = subflow.come_at(segment.seq).unwrap_or(subflow.read);
        let len = segment.payload.len() as u64;
        let unmapped = begins + len > subflow.read && subflow.come.at(begins.max(subflow.read)).is_none();
        let is_data = len > 0 && unmapped;
        let unconfirmed = self.mode == Mode::Multipath { confirmed: false };
        if !(is_data || (unconfirmed && !any)) || matches!(self.mode, Mode::Plain { .. }) {
            return Verdict::Pass;
        }
        if unconfirmed || (!any && self.is_alone()) {
            // Something takes the options, or the peer has found that out before us.
            self.fall_back(0);
            return Verdict::Pass;
        }
        if self.subflows[at].phase == Phase::Up && !any {
            self.subflows[at].reset(reason::MIDDLEBOX_INTERFERENCE);
            return Verdict::Drop;
        }
        // The mapping may still come.
        Verdict::Pass
    }

    /// There has never been but one sub-flow, and its octets are the data, in their order: plain TCP could go on from here.
    pub(super) fn is_alone(&self) -> bool {
        let in_order = |s: &Subflow| self.tx.nxt() == s.written && self.rx.next_data() <= s.read;
        self.next_id == 1 && self.subflows.iter().all(in_order)
    }

    /// The window of the handshake, where no `DATA_ACK` says what it is relative to.
    fn take_window(&mut self, at: usize, segment: &Segment) {
        if self.tx.una() == 0 && self.subflows[at].phase == Phase::Up && segment.flags.contains(Flags::ACK) {
            self.tx.on_ack(0, self.subflows[at].peer_window(segment));
        }
    }

    /// What is in order on the sub-flow becomes data.
    fn take_data(&mut self, at: usize) {
        while matches!(self.mode, Mode::Multipath { .. }) && self.subflows[at].endpoint.readable() > 0 {
            let subflow = &mut self.subflows[at];
            let Some(run) = subflow.come.at(subflow.read) else { return };
            let left = run.end() - subflow.read;
            if run.checksum.is_some() && subflow.endpoint.readable() < left {
                // A checksum is for the whole.
                return;
            }
            let mut data = run.data + (subflow.read - run.sub);
            let mut pieces = Vec::new();
            let mut taken = 0;
            while taken < left
                && let Some(piece) = subflow.endpoint.read((left - taken) as usize)
            {
                taken += piece.len() as u64;
                pieces.push(piece);
            }
            let is_whole = subflow.read == run.sub;
            subflow.read += taken;
            if is_whole && run.checksum.is_some_and(|sum| !self.is_right(&run, &pieces, sum)) {
                self.on_wrong_checksum(at, run.data);
                if self.subflows[at].phase == Phase::Down {
                    return;
                }
            }
            for piece in &pieces {
                self.rx.on_data(data, piece, &mut self.counters);
                data += piece.len() as u64;
            }
        }
    }

    fn is_right(&self, run: &Run, pieces: &[Payload], sum: u16) -> bool {
        let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.to_bytes().to_vec()).collect();
        let number = self.first_come().unwrap_or(0).wrapping_add(run.data);
        // The mapping of the last octets may have held DATA_FIN, too.
        let fin = self.rx.fin() == Some(run.data + run.len);
        let lens = [run.len, run.len + u64::from(fin)];
        lens.into_iter().any(|len| checksum(number, run.sub as u32 + 1, len as u16, &bytes) == sum)
    }

    /// §3.7: something on the way changes what is carried.
    fn on_wrong_checksum(&mut self, at: usize, data: u64) {
        self.counters.checksum_failures += 1;
        let number = self.first_come().unwrap_or(0).wrapping_add(data);
        if self.is_alone() {
            // Everything goes on as in plain TCP, what was changed included.
            self.subflows[at].signal(Mptcp::Fail(number));
            self.fall_back(0);
        } else {
            self.subflows[at].signals.push_front(Mptcp::Fail(number));
            self.subflows[at].reset(reason::MIDDLEBOX_INTERFERENCE);
        }
    }

    /// §3.5: only who knows our key says so.
    fn is_closed_fast(&self, segment: &Segment) -> bool {
        let key = self.key.0;
        self.state != crate::State::Closed
            && segment.mptcp().any(|option| matches!(option, Mptcp::FastClose(told) if told == key))
    }

    fn on_fast_close(&mut self, now: Instant) {
        for subflow in &mut self.subflows {
            subflow.endpoint.abort();
        }
        self.fail(Failure::FastClose);
        self.settle(now);
    }

    fn note_reason(&mut self, at: usize, segment: &Segment) {
        self.subflows[at].heard_reason = segment.mptcp().find_map(|option| match option {
            Mptcp::Reset { reason, .. } => Some(reason),
            _ => None,
        });
    }
}
