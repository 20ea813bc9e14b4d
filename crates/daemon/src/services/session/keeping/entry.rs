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
    /// The program was told that no more comes, or is about to be: before that nothing but a failure closes its connection.
    pub(super) is_ending: bool,
}

const PROGRAM: u8 = 1;
const ENDING: u8 = 2;

/// This process's part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::services::session) struct Entry {
    pub(super) program: Option<Bases>,
    /// Of whoever has opened it.
    pub(super) note: Vec<u8>,
}

impl Entry {
    pub(super) fn emit(&self, saved: &Saved) -> Vec<u8> {
        let mut out = vec![VERSION, 0];
        if let Some(Bases { number, read, written, is_ending }) = self.program {
            out[1] = PROGRAM | if is_ending { ENDING } else { 0 };
            out.extend([number, read, written].into_iter().flat_map(u64::to_be_bytes));
        }
        out.extend((self.note.len() as u16).to_be_bytes());
        out.extend(&self.note);
        out.extend(saved.emit());
        out
    }

    pub(super) fn parse(text: &[u8]) -> Option<(Self, Saved)> {
        let (&[version, flags], mut rest) = text.split_first_chunk()?;
        if version != VERSION {
            return None;
        }
        let mut number = || -> Option<u64> {
            let (number, after) = rest.split_first_chunk()?;
            rest = after;
            Some(u64::from_be_bytes(*number))
        };
        let is_ending = flags & ENDING != 0;
        let program = match flags & !ENDING {
            PROGRAM => Some(Bases { number: number()?, read: number()?, written: number()?, is_ending }),
            0 if !is_ending => None,
            _ => return None,
        };
        let (len, rest) = rest.split_first_chunk()?;
        let (note, saved) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
        Some((Self { program, note: note.to_vec() }, Saved::parse(saved)?))
    }
}
