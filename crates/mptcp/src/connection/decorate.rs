//! What a segment of a sub-flow says of the connection.

use handfast_core::Instant;
use handfast_tcp::Transmit;
use handfast_wire::tcp::mptcp::{Capable, DataSeq, Dss, Join, Mapping, Mptcp, checksum};
use handfast_wire::tcp::{Flags, Segment};

use super::{Connection, Mode};
use crate::keys::{join_hmac, left_64};
use crate::subflow::Phase;

/// SYNs with `MP_CAPABLE` that nobody answers: the next one goes without (§3.7: something may drop them).
const SYNS: u64 = 3;

impl Connection {
    /// Puts our options on a segment that leaves, and our window.
    pub(super) fn decorate(&mut self, now: Instant, at: usize, transmit: &mut Transmit) {
        let segment = &mut transmit.segment;
        if segment.flags.contains(Flags::RST) {
            self.decorate_reset(at, segment);
        } else if segment.flags.contains(Flags::SYN) {
            self.decorate_syn(at, segment);
        } else if let Phase::Proving { hmac } = self.subflows[at].phase {
            segment.push_mptcp(&Mptcp::Join(Join::Ack { hmac }));
            let rto = self.subflows[at].endpoint.snapshot(now).rto;
            self.subflows[at].prove_at = Some(now + rto);
        } else {
            match self.mode {
                Mode::Opening => {}
                Mode::Multipath { confirmed } => self.decorate_open(at, segment, confirmed),
                Mode::Plain { announce } => self.decorate_plain(at, segment, announce),
            }
        }
    }

    fn decorate_reset(&mut self, at: usize, segment: &mut Segment) {
        if let Some(key) = self.peer_key.filter(|_| self.fast_close) {
            segment.push_mptcp(&Mptcp::FastClose(key.0));
            return;
        }
        let subflow = &mut self.subflows[at];
        if let Some(fail @ Mptcp::Fail(_)) = subflow.signals.pop_front() {
            segment.push_mptcp(&fail);
        }
        if let Some(reason) = subflow.reset_reason {
            segment.push_mptcp(&Mptcp::Reset { transient: false, reason });
        }
    }

    fn decorate_syn(&mut self, at: usize, segment: &mut Segment) {
        let mut capable = self.capable();
        let (own, peer) = (self.key, self.peer_key);
        let subflow = &mut self.subflows[at];
        subflow.note_own_syn(segment);
        if subflow.irs.is_some() && segment.window_scale.is_none() {
            // The peer has offered no scale.
            subflow.without_scale();
        }
        let (backup, address_id) = (subflow.backup.0, subflow.address_ids.0);
        let option = match subflow.phase {
            Phase::First if self.mode == Mode::Opening => {
                if self.initiator && subflow.endpoint.counters().timeouts >= SYNS {
                    return;
                }
                capable.sender_key = (!self.initiator).then_some(own.0);
                Mptcp::Capable(capable)
            }
            Phase::Joining { nonce } => {
                let Some(peer) = peer else { return };
                Mptcp::Join(Join::Syn { backup, address_id, token: peer.token(), nonce })
            }
            Phase::Joined { nonce, peer_nonce } => {
                let Some(peer) = peer else { return };
                let hmac = left_64(&join_hmac(own, peer, nonce, peer_nonce));
                Mptcp::Join(Join::SynAck { backup, address_id, hmac, nonce })
            }
            _ => return,
        };
        segment.push_mptcp(&option);
    }

    fn decorate_open(&mut self, at: usize, segment: &mut Segment, confirmed: bool) {
        let mss = u64::from(self.config.tcp.mss);
        let window = self.subflows[at].window_field(self.rx.offer(mss));
        segment.window = segment.window.min(window);
        // §3.1: until the peer shows that it has our key.
        let proves = self.initiator && !confirmed && self.subflows[at].id.0 == 0;
        let is_first = segment.payload.is_empty() || segment.seq == self.subflows[at].iss + 1;
        let mapping = self.mapping_of(at, segment, proves && is_first);
        let capable = self.capable();
        let keys =
            Capable { sender_key: Some(self.key.0), receiver_key: self.peer_key.map(|key| key.0), ..capable };
        if proves {
            let first = mapping.as_ref().filter(|(mapping, _)| mapping.subflow_seq == 1);
            if let Some((mapping, _)) = first {
                let mapped = Some((mapping.len, mapping.checksum));
                segment.push_mptcp(&Mptcp::Capable(Capable { mapped, ..keys }));
                return;
            }
            if segment.payload.is_empty() {
                segment.push_mptcp(&Mptcp::Capable(keys));
                return;
            }
        }
        if segment.payload.is_empty() {
            self.push_signals(at, segment);
        }
        let ack = self.first_come().map(|first| self.number(first.wrapping_add(self.rx.next())));
        let fin = mapping.as_ref().is_some_and(|&(_, fin)| fin);
        let dss = Dss { ack, mapping: mapping.map(|(mapping, _)| mapping), fin };
        if !segment.push_mptcp(&Mptcp::Dss(dss)) && dss.mapping.is_some() {
            // What a segment carries is said in any case.
            segment.push_mptcp(&Mptcp::Dss(Dss { ack: None, ..dss }));
        }
        if segment.payload.is_empty() && !self.subflows[at].signals.is_empty() {
            self.subflows[at].endpoint.acknowledge();
        }
    }

    fn push_signals(&mut self, at: usize, segment: &mut Segment) {
        let subflow = &mut self.subflows[at];
        while let Some(option) = subflow.signals.front() {
            if !segment.push_mptcp(option) {
                return;
            }
            subflow.signals.pop_front();
        }
    }

    /// What the octets of a segment are, and whether `DATA_FIN` follows them (§3.3.3). `alone`: it may not, since `MP_CAPABLE` cannot say
    /// so.
    fn mapping_of(&self, at: usize, segment: &Segment, alone: bool) -> Option<(Mapping, bool)> {
        let fin_at = self.tx.fin().filter(|_| !self.tx.is_finished() && !alone);
        let subflow = &self.subflows[at];
        let (data, sub, len) = if segment.payload.is_empty() {
            (fin_at?, None, 0)
        } else {
            let sub = subflow.sent_position(segment.seq)?;
            (subflow.sent.data_at(sub)?, Some(sub), segment.payload.len() as u64)
        };
        let fin = fin_at == Some(data + len);
        let len = (len + u64::from(fin)) as u16;
        let number = self.first_sent().wrapping_add(data);
        let subflow_seq = sub.map_or(0, |sub| sub as u32 + 1);
        let sum = || checksum(number, subflow_seq, len, &segment.payload.to_bytes());
        let checksum = self.checksum.then(sum);
        Some((Mapping { data_seq: self.number(number), subflow_seq, len, checksum }, fin))
    }

    fn number(&self, number: u64) -> DataSeq {
        if self.config.wide { DataSeq::Whole(number) } else { DataSeq::Low(number as u32) }
    }

    /// §3.7: what is left to say to a peer with which this is plain TCP.
    fn decorate_plain(&mut self, at: usize, segment: &mut Segment, announce: u64) {
        if segment.payload.is_empty() {
            self.push_signals(at, segment);
        } else if self.subflows[at].acked < announce
            && let Some((mapping, _)) = self.mapping_of(at, segment, true)
        {
            let mapping = Mapping { len: 0, checksum: self.checksum.then_some(0), ..mapping };
            segment.push_mptcp(&Mptcp::Dss(Dss { mapping: Some(mapping), ..Dss::default() }));
        }
    }
}
