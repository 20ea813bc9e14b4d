//! What is done with a packet (§7.2.4, §7.2.5).

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, put_tlv};
use super::oxm::{BASIC, METADATA};
use super::{EmitError, ParseError, Part, PortNo};

const OUTPUT: u16 = 0;
const SET_FIELD: u16 = 25;
const GOTO_TABLE: u16 = 1;
const WRITE_ACTIONS: u16 = 3;
const APPLY_ACTIONS: u16 = 4;
const CLEAR_ACTIONS: u16 = 5;

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Out by a port.
    Output {
        /// Which.
        port: PortNo,
        /// To the controller: how many bytes of the packet.
        max_len: u16,
    },
    /// Writes the metadata that later lookups match: `OFPAT_SET_FIELD` (§7.2.5) of `OXM_OF_METADATA`. The specification has
    /// an instruction for it, and no action; Open vSwitch takes this one, in packet-outs too (ovs-actions(7), `set_field`).
    SetMetadata(u64),
    /// An action that is not known here, kept.
    Other {
        /// `OFPAT_*`.
        kind: u16,
        /// All after type and length.
        body: Bytes,
    },
}

/// An instruction of a flow entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Goes on in a later table.
    GotoTable(u8),
    /// Adds to the actions done at the end of the pipeline.
    WriteActions(Vec<Action>),
    /// Acts at once.
    ApplyActions(Vec<Action>),
    /// Forgets the actions written so far.
    ClearActions,
    /// An instruction that is not known here, kept.
    Other {
        /// `OFPIT_*`.
        kind: u16,
        /// All after type and length.
        body: Bytes,
    },
}

/// Class, field and length of the metadata as an OXM field.
const METADATA_HEADER: [u8; 4] = [(BASIC >> 8) as u8, BASIC as u8, METADATA << 1, 8];

/// The metadata that an action writes. Its 16 bytes need no padding.
fn metadata(kind: u16, body: &[u8]) -> Option<u64> {
    let value = body.strip_prefix(&METADATA_HEADER).filter(|_| kind == SET_FIELD)?;
    value.try_into().ok().map(u64::from_be_bytes)
}

impl Action {
    /// All actions until the reader's end.
    pub(super) fn parse_all(mut at: Reader) -> Result<Vec<Self>, ParseError> {
        let mut actions = Vec::new();
        while !at.is_empty() {
            actions.push(Self::parse(&mut at)?);
        }
        Ok(actions)
    }

    fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        let (kind, mut inner) = at.tlv(Part::Action)?;
        let stated = inner.stated();
        // §7.2.5: the length includes what fills the last word of 64 bits.
        if !stated.is_multiple_of(8) {
            return Err(ParseError::Multiple { part: Part::Action, stated, of: 8 });
        }
        if kind != OUTPUT {
            let body = inner.rest();
            let metadata = metadata(kind, &body);
            return Ok(metadata.map_or(Self::Other { kind, body }, Self::SetMetadata));
        }
        let mut fixed = inner.exactly(12, Part::OutputAction)?;
        Ok(Self::Output { port: PortNo(fixed.get_u32()), max_len: fixed.get_u16() })
    }

    pub(super) fn emit_all(actions: &[Self], out: &mut Vec<u8>) -> Result<(), EmitError> {
        actions.iter().try_for_each(|action| action.emit(out))
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::Output { port, max_len } => put_tlv(out, OUTPUT, |out| {
                out.put_u32(port.0);
                out.put_u16(*max_len);
                out.put_bytes(0, 6);
                Ok(())
            }),
            Self::SetMetadata(value) => put_tlv(out, SET_FIELD, |out| {
                out.put_slice(&METADATA_HEADER);
                out.put_u64(*value);
                Ok(())
            }),
            Self::Other { kind: kind @ OUTPUT, .. } => {
                Err(EmitError::Known { part: Part::Action, kind: *kind })
            }
            Self::Other { kind, body } if metadata(*kind, body).is_some() => {
                Err(EmitError::Known { part: Part::Action, kind: *kind })
            }
            // With type and length.
            Self::Other { body, .. } if body.len() % 8 != 4 => Err(EmitError::ActionLength(body.len() + 4)),
            Self::Other { kind, body } => put_tlv(out, *kind, |out| {
                out.put_slice(body);
                Ok(())
            }),
        }
    }
}

impl Instruction {
    /// All instructions until the reader's end.
    pub(super) fn parse_all(mut at: Reader) -> Result<Vec<Self>, ParseError> {
        let mut instructions = Vec::new();
        while !at.is_empty() {
            let (kind, inner) = at.tlv(Part::Instruction)?;
            instructions.push(Self::parse(kind, inner)?);
        }
        Ok(instructions)
    }

    fn parse(kind: u16, mut inner: Reader) -> Result<Self, ParseError> {
        Ok(match kind {
            GOTO_TABLE => Self::GotoTable(inner.exactly(4, Part::GotoTable)?.get_u8()),
            WRITE_ACTIONS => Self::WriteActions(Self::parse_actions(inner)?),
            APPLY_ACTIONS => Self::ApplyActions(Self::parse_actions(inner)?),
            CLEAR_ACTIONS => {
                inner.exactly(4, Part::ClearActions)?;
                Self::ClearActions
            }
            _ => Self::Other { kind, body: inner.rest() },
        })
    }

    fn parse_actions(mut inner: Reader) -> Result<Vec<Action>, ParseError> {
        inner.take(4, Part::Instruction)?;
        Action::parse_all(inner)
    }

    pub(super) fn emit_all(instructions: &[Self], out: &mut Vec<u8>) -> Result<(), EmitError> {
        instructions.iter().try_for_each(|instruction| instruction.emit(out))
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::GotoTable(table) => put_tlv(out, GOTO_TABLE, |out| {
                out.put_slice(&[*table, 0, 0, 0]);
                Ok(())
            }),
            Self::WriteActions(actions) => Self::emit_actions(WRITE_ACTIONS, actions, out),
            Self::ApplyActions(actions) => Self::emit_actions(APPLY_ACTIONS, actions, out),
            Self::ClearActions => Self::emit_actions(CLEAR_ACTIONS, &[], out),
            Self::Other {
                kind: kind @ (GOTO_TABLE | WRITE_ACTIONS | APPLY_ACTIONS | CLEAR_ACTIONS), ..
            } => Err(EmitError::Known { part: Part::Instruction, kind: *kind }),
            Self::Other { kind, body } => put_tlv(out, *kind, |out| {
                out.put_slice(body);
                Ok(())
            }),
        }
    }

    fn emit_actions(kind: u16, actions: &[Action], out: &mut Vec<u8>) -> Result<(), EmitError> {
        put_tlv(out, kind, |out| {
            out.put_bytes(0, 4);
            Action::emit_all(actions, out)
        })
    }
}
