//! What is written down of a session: the machine's part, and this process's.

use handfast_assist::iosl::end::Saved;

/// The form of what is written.
const VERSION: u8 = 1;

/// Where a session's octets begin in its program's connection, as the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bases {
    /// Under which it is kept.
    pub(super) number: u64,
    /// Octets read before.
    pub(super) read: u64,
    /// Octets written before.
    pub(super) written: u64,
}

/// This process's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::services::session) struct Entry {
    pub(super) program: Option<Bases>,
    /// Of whoever has opened it.
    pub(super) note: Vec<u8>,
}

impl Entry {
    pub(super) fn emit(&self, saved: &Saved) -> Vec<u8> {
        let mut out = vec![VERSION, self.program.is_some().into()];
        if let Some(Bases { number, read, written }) = self.program {
            out.extend([number, read, written].into_iter().flat_map(u64::to_be_bytes));
        }
        out.extend((self.note.len() as u16).to_be_bytes());
        out.extend(&self.note);
        out.extend(saved.emit());
        out
    }

    pub(super) fn parse(text: &[u8]) -> Option<(Self, Saved)> {
        let (&[version, has_program], mut rest) = text.split_first_chunk()?;
        if version != VERSION || has_program > 1 {
            return None;
        }
        let mut number = || -> Option<u64> {
            let (number, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        let program = match has_program {
            1 => Some(Bases { number: number()?, read: number()?, written: number()? }),
            _ => None,
        };
        let (len, rest) = rest.split_first_chunk()?;
        let (note, saved) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        Some((Self { program, note: note.to_vec() }, Saved::parse(saved)?))
    }
}
