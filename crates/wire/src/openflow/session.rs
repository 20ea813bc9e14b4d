//! Greeting, features, configuration, roles, errors.

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, put_padding, put_tlv, value};
use super::{EmitError, ParseError, Part};

/// The one hello element there is.
const VERSION_BITMAP: u16 = 1;

/// The versions a side speaks (§7.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version in the header: the highest spoken.
    pub version: u8,
    /// Version bitmaps, first word for versions 0 to 31; empty where the element is absent.
    pub bitmaps: Vec<u32>,
}

/// An error (§7.4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `OFPET_*`.
    pub kind: u16,
    /// Its code within the type.
    pub code: u16,
    /// At least 64 bytes of the message that failed, or a text.
    pub data: Bytes,
}

/// What a switch is (§7.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturesReply {
    /// The switch's identity.
    pub datapath_id: u64,
    /// Packets that it can keep for the controller.
    pub n_buffers: u32,
    /// Tables.
    pub n_tables: u8,
    /// 0: the main connection.
    pub auxiliary_id: u8,
    /// `OFPC_*`.
    pub capabilities: u32,
}

/// How a switch treats packets (§7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchConfig {
    /// `OFPC_FRAG_*`.
    pub flags: u16,
    /// Most bytes of a packet that misses, sent to the controller.
    pub miss_send_len: u16,
}

/// A controller's part (§6.3, multiple controllers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// As it is: a question.
    NoChange,
    /// One of several that may change the switch.
    Equal,
    /// The only one.
    Master,
    /// May only look.
    Slave,
}

/// A request for a role, or the answer (§7.3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleMessage {
    /// The part.
    pub role: Role,
    /// Orders masters in time.
    pub generation_id: u64,
}

impl Hello {
    /// Of a bitmap that comes twice the last counts; other elements are skipped (§7.5.1).
    pub(super) fn parse(version: u8, mut at: Reader) -> Result<Self, ParseError> {
        let mut bitmaps = Vec::new();
        while !at.is_empty() {
            let (kind, mut inner) = at.tlv(Part::HelloElement)?;
            at.skip_padding(inner, Part::HelloElement)?;
            if kind == VERSION_BITMAP {
                bitmaps = parse_bitmaps(&inner.rest())?;
            }
        }
        Ok(Self { version, bitmaps })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        if self.bitmaps.is_empty() {
            return Ok(());
        }
        let start = out.len();
        put_tlv(out, VERSION_BITMAP, |out| {
            for &word in &self.bitmaps {
                out.put_u32(word);
            }
            Ok(())
        })?;
        put_padding(out, start);
        Ok(())
    }
}

fn parse_bitmaps(bytes: &[u8]) -> Result<Vec<u32>, ParseError> {
    let (words, []) = bytes.as_chunks::<4>() else {
        let stated = bytes.len() + 4;
        return Err(ParseError::Multiple { part: Part::VersionBitmap, stated, of: 4 });
    };
    Ok(words.iter().map(|&word| u32::from_be_bytes(word)).collect())
}

impl Error {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(4, Part::Error)?;
        Ok(Self { kind: fixed.get_u16(), code: fixed.get_u16(), data: at.rest() })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u16(self.kind);
        out.put_u16(self.code);
        out.put_slice(&self.data);
    }
}

impl FeaturesReply {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(24, Part::FeaturesReply)?;
        at.end(Part::FeaturesReply)?;
        Ok(Self {
            datapath_id: fixed.get_u64(),
            n_buffers: fixed.get_u32(),
            n_tables: fixed.get_u8(),
            auxiliary_id: fixed.get_u8(),
            capabilities: {
                fixed.advance(2);
                fixed.get_u32()
            },
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u64(self.datapath_id);
        out.put_u32(self.n_buffers);
        out.put_slice(&[self.n_tables, self.auxiliary_id, 0, 0]);
        out.put_u32(self.capabilities);
        // Reserved.
        out.put_u32(0);
    }
}

impl SwitchConfig {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(4, Part::SwitchConfig)?;
        at.end(Part::SwitchConfig)?;
        Ok(Self { flags: fixed.get_u16(), miss_send_len: fixed.get_u16() })
    }

    pub(super) fn emit(self, out: &mut Vec<u8>) {
        out.put_u16(self.flags);
        out.put_u16(self.miss_send_len);
    }
}

impl Role {
    /// In the order of `OFPCR_ROLE_*`.
    const ALL: [Self; 4] = [Self::NoChange, Self::Equal, Self::Master, Self::Slave];
}

impl RoleMessage {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(16, Part::Role)?;
        at.end(Part::Role)?;
        let role = value(&Role::ALL, fixed.get_u32(), Part::Role)?;
        fixed.advance(4);
        Ok(Self { role, generation_id: fixed.get_u64() })
    }

    pub(super) fn emit(self, out: &mut Vec<u8>) {
        out.put_u32(self.role as u32);
        out.put_u32(0);
        out.put_u64(self.generation_id);
    }
}
