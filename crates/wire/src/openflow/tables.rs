//! What a switch says of its tables: how full they are, and how many entries they take (§7.3.5.3, §7.3.5.5).

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, set_len};
use super::{ParseError, Part};

/// How full a table is (§7.3.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableStats {
    /// Its number.
    pub table_id: u8,
    /// Entries that it has.
    pub active_count: u32,
    /// Packets that were looked up in it.
    pub lookup_count: u64,
    /// And those that matched an entry.
    pub matched_count: u64,
}

/// What a table can do (§7.3.5.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFeatures {
    /// Its number.
    pub table_id: u8,
    /// Its name: 32 bytes, ends at the first zero.
    pub name: [u8; 32],
    /// Bits of metadata that it can match.
    pub metadata_match: u64,
    /// And those that it can write.
    pub metadata_write: u64,
    /// `OFPTC_*`.
    pub config: u32,
    /// Entries that it takes.
    pub max_entries: u32,
    /// Its properties (§7.3.5.5.2), kept.
    pub properties: Bytes,
}

impl TableStats {
    const LEN: usize = 24;

    pub(super) fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(Self::LEN, Part::TableStats)?;
        let table_id = fixed.get_u8();
        fixed.advance(3);
        Ok(Self {
            table_id,
            active_count: fixed.get_u32(),
            lookup_count: fixed.get_u64(),
            matched_count: fixed.get_u64(),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_slice(&[self.table_id, 0, 0, 0]);
        out.put_u32(self.active_count);
        out.put_u64(self.lookup_count);
        out.put_u64(self.matched_count);
    }
}

impl TableFeatures {
    /// Bytes before the properties.
    const FIXED_LEN: usize = 64;

    pub(super) fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        // The reader is looked at and then cut by what it says.
        let len = at.clone().take(2, Part::TableFeatures)?.get_u16();
        let mut at = at.part(len.into(), Self::FIXED_LEN, Part::TableFeatures)?;
        let mut fixed = at.take(Self::FIXED_LEN, Part::TableFeatures)?;
        fixed.advance(2);
        let table_id = fixed.get_u8();
        fixed.advance(5);
        let mut name = [0; 32];
        fixed.copy_to_slice(&mut name);
        Ok(Self {
            table_id,
            name,
            metadata_match: fixed.get_u64(),
            metadata_write: fixed.get_u64(),
            config: fixed.get_u32(),
            max_entries: fixed.get_u32(),
            properties: at.rest(),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_slice(&[0, 0, self.table_id, 0, 0, 0, 0, 0]);
        out.put_slice(&self.name);
        out.put_u64(self.metadata_match);
        out.put_u64(self.metadata_write);
        out.put_u32(self.config);
        out.put_u32(self.max_entries);
        out.put_slice(&self.properties);
        set_len(out, start, start);
    }
}
