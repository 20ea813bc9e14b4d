//! What is written down of sessions: memory that outlives the process as a descriptor, and is on no disk.
//!
//! A slot has two halves, which are written in turn. A process that is killed while it writes leaves the other half, which is older
//! and whole.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::{Whence, lseek};

const HALF: usize = 2_048;
const SLOT: u64 = 2 * HALF as u64;
/// Sequence, checksum, length.
const HEAD: usize = 8 + 8 + 2;

/// A slot's number, and what is in it.
pub(super) type Found = (usize, Vec<u8>);

/// The longest text of a slot.
pub(super) const MOST: usize = HALF - HEAD;

pub(super) struct Slots {
    file: File,
    /// Of each slot the sequence of what was written last.
    sequences: Vec<u64>,
}

impl Slots {
    /// So many, which are empty.
    pub(super) fn new(count: usize) -> io::Result<Self> {
        let file = File::from(memfd_create("handfast-sessions", MFdFlags::MFD_CLOEXEC)?);
        file.set_len(count as u64 * SLOT)?;
        Ok(Self { file, sequences: vec![0; count] })
    }

    /// Those of a process of before, and what is in them.
    pub(super) fn of(descriptor: OwnedFd) -> io::Result<(Self, Vec<Found>)> {
        let file = File::from(descriptor);
        let count = (file.metadata()?.len() / SLOT) as usize;
        let (mut sequences, mut found) = (vec![0; count], Vec::new());
        let mut octets = [0; SLOT as usize];
        let mut from = 0;
        while let Some(slot) = next_written(&file, from)? {
            let Some(sequence) = sequences.get_mut(slot) else { break };
            file.read_exact_at(&mut octets, slot as u64 * SLOT)?;
            from = slot + 1;
            let halves = octets.chunks(HALF).filter_map(parsed);
            let Some((newest, text)) = halves.max_by_key(|(sequence, _)| *sequence) else { continue };
            *sequence = newest;
            if !text.is_empty() {
                found.push((slot, text.to_vec()));
            }
        }
        Ok((Self { file, sequences }, found))
    }

    pub(super) fn len(&self) -> usize {
        self.sequences.len()
    }

    /// Replaces what is in a slot. An empty text frees it.
    pub(super) fn write(&mut self, slot: usize, text: &[u8]) -> io::Result<()> {
        let sequence = self.sequences.get_mut(slot).filter(|_| text.len() <= MOST);
        let sequence = sequence.ok_or_else(|| io::Error::other("no room for what is to be written down"))?;
        *sequence += 1;
        let mut octets = sequence.to_be_bytes().to_vec();
        octets.extend(checksum(*sequence, text).to_be_bytes());
        octets.extend((text.len() as u16).to_be_bytes());
        octets.extend(text);
        let half = *sequence % 2 * HALF as u64;
        self.file.write_all_at(&octets, slot as u64 * SLOT + half)
    }
}

impl AsFd for Slots {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The first slot from this one on into which something was written: there may be thousands of others.
fn next_written(file: &File, from: usize) -> io::Result<Option<usize>> {
    match lseek(file, (from as u64 * SLOT) as i64, Whence::SeekData) {
        Ok(at) => Ok(Some((at as u64 / SLOT) as usize)),
        // lseek(2): there is none.
        Err(nix::Error::ENXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sequence and text of a half; [`None`]: nothing was written, or not all of it.
fn parsed(half: &[u8]) -> Option<(u64, &[u8])> {
    let (sequence, rest) = half.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let text = rest.get(..usize::from(u16::from_be_bytes(*len)))?;
    let sequence = u64::from_be_bytes(*sequence);
    (sequence > 0 && checksum(sequence, text) == u64::from_be_bytes(*sum)).then_some((sequence, text))
}

/// FNV-1a of 64 bits: it tells a text from the half of it, and is no protection from anybody.
fn checksum(sequence: u64, text: &[u8]) -> u64 {
    let octets = sequence.to_be_bytes();
    octets
        .iter()
        .chain(text)
        .fold(0xcbf2_9ce4_8422_2325, |sum, &octet| (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(slots: &Slots) -> (Slots, Vec<Found>) {
        Slots::of(slots.as_fd().try_clone_to_owned().unwrap()).unwrap()
    }

    #[test]
    fn what_was_written_last_is_found() {
        let mut slots = Slots::new(4).unwrap();
        assert!(again(&slots).1.is_empty());
        for text in [&b"one"[..], b"two", b"three"] {
            slots.write(2, text).unwrap();
            assert_eq!(again(&slots).1, [(2, text.to_vec())]);
        }
        slots.write(0, &[7; MOST]).unwrap();
        let (mut next, found) = again(&slots);
        assert_eq!((next.len(), found.len()), (4, 2));
        next.write(2, b"four").unwrap();
        next.write(0, b"").unwrap();
        assert_eq!(again(&slots).1, [(2, b"four".to_vec())]);
        assert!(slots.write(4, b"").is_err() && slots.write(1, &[0; MOST + 1]).is_err());
    }

    /// Wherever the process is killed, what was there before is there still.
    #[test]
    fn a_half_that_is_not_whole_counts_for_nothing() {
        let mut slots = Slots::new(1).unwrap();
        slots.write(0, b"before").unwrap();
        slots.write(0, b"after!").unwrap();
        let (at, len) = (0, HEAD + 6);
        let mut whole = vec![0; len];
        slots.file.read_exact_at(&mut whole, at).unwrap();
        for cut in 0..len {
            let mut part = whole.clone();
            part[cut..].fill(0);
            slots.file.write_all_at(&part, at).unwrap();
            let expected: &[u8] = if part == whole { b"after!" } else { b"before" };
            assert_eq!(again(&slots).1, [(0, expected.to_vec())], "{cut}");
        }
    }
}
