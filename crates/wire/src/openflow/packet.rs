//! Packets to and from the controller.

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, set_len, value};
use super::{Action, EmitError, Match, ParseError, Part, PortNo};

/// Why a packet came to the controller (§7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketInReason {
    /// No entry matched but the table-miss entry.
    NoMatch,
    /// An action said so.
    Action,
    /// Its time to live was over.
    InvalidTtl,
}

/// A packet for the controller (§7.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketIn {
    /// Where the switch keeps it, or [`super::NO_BUFFER`].
    pub buffer_id: u32,
    /// Bytes of the whole frame.
    pub total_len: u16,
    /// Why.
    pub reason: PacketInReason,
    /// The table whose entry sent it.
    pub table_id: u8,
    /// That entry's mark.
    pub cookie: u64,
    /// What is known besides the frame: the port at which it arrived.
    pub matches: Match,
    /// The frame, or its beginning.
    pub data: Bytes,
}

/// A packet from the controller (§7.3.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// The kept packet that is meant, or [`super::NO_BUFFER`].
    pub buffer_id: u32,
    /// Where it is said to have arrived, or [`PortNo::CONTROLLER`].
    pub in_port: PortNo,
    /// What is done with it.
    pub actions: Vec<Action>,
    /// The frame, if it is not a kept one.
    pub data: Bytes,
}

impl PacketInReason {
    /// In the order of `OFPR_*`.
    const ALL: [Self; 3] = [Self::NoMatch, Self::Action, Self::InvalidTtl];
}

impl PacketIn {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(16, Part::PacketIn)?;
        Ok(Self {
            buffer_id: fixed.get_u32(),
            total_len: fixed.get_u16(),
            reason: value(&PacketInReason::ALL, fixed.get_u8().into(), Part::PacketIn)?,
            table_id: fixed.get_u8(),
            cookie: fixed.get_u64(),
            matches: Match::parse(&mut at)?,
            data: {
                // §7.4.1: so that the IP header of an Ethernet frame lies on a boundary of 4 bytes.
                at.take(2, Part::PacketIn)?;
                at.rest()
            },
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_u32(self.buffer_id);
        out.put_u16(self.total_len);
        out.put_slice(&[self.reason as u8, self.table_id]);
        out.put_u64(self.cookie);
        self.matches.emit(out)?;
        out.put_bytes(0, 2);
        out.put_slice(&self.data);
        Ok(())
    }
}

impl PacketOut {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(16, Part::PacketOut)?;
        let buffer_id = fixed.get_u32();
        let in_port = PortNo(fixed.get_u32());
        let actions = at.part(fixed.get_u16().into(), 0, Part::PacketOut)?;
        Ok(Self { buffer_id, in_port, actions: Action::parse_all(actions)?, data: at.rest() })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_u32(self.buffer_id);
        out.put_u32(self.in_port.0);
        let actions_len = out.len();
        out.put_bytes(0, 8);
        let actions = out.len();
        Action::emit_all(&self.actions, out)?;
        set_len(out, actions, actions_len);
        out.put_slice(&self.data);
        Ok(())
    }
}
