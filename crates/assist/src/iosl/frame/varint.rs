//! Integers of variable length (RFC 9000 §16).

use bytes::{Buf, BufMut, Bytes};

/// The largest number that there is room for.
pub const MAX: u64 = (1 << 62) - 1;

/// The bytes that a number takes.
pub const fn len(number: u64) -> usize {
    match number {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Writes a number in as few bytes as it takes; one above [`MAX`] as [`MAX`].
pub fn put(out: &mut Vec<u8>, number: u64) {
    let number = number.min(MAX);
    match len(number) {
        1 => out.put_u8(number as u8),
        2 => out.put_u16(number as u16 | 0x4000),
        4 => out.put_u32(number as u32 | 0x8000_0000),
        _ => out.put_u64(number | 0xc000_0000_0000_0000),
    }
}

/// Takes a number; [`None`]: it is cut, or longer than it has to be. RFC 9000 §12.4 forbids the latter for types alone; here
/// nothing has two forms.
pub fn take(from: &mut Bytes) -> Option<u64> {
    let len = 1 << (from.first()? >> 6);
    if from.len() < len {
        return None;
    }
    let number = from.get_uint(len) & (MAX >> (62 - (8 * len - 2)));
    (self::len(number) == len).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(bytes: &[u8]) -> Option<u64> {
        take(&mut Bytes::copy_from_slice(bytes))
    }

    /// RFC 9000 §A.1.
    #[test]
    fn the_examples_of_the_rfc() {
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(taken(&eight), Some(151_288_809_941_952_652));
        assert_eq!(taken(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
        assert_eq!(taken(&[0x7b, 0xbd]), Some(15_293));
        assert_eq!(taken(&[0x25]), Some(37));
        assert_eq!(taken(&[0x40, 0x25]), None, "the RFC allows it, frames here have one form");
    }

    #[test]
    fn what_is_cut_is_no_number() {
        for bytes in [&[][..], &[0x40], &[0x80, 1, 2], &[0xc0, 1, 2, 3, 4, 5, 6]] {
            assert_eq!(taken(bytes), None);
        }
    }

    proptest! {
        #[test]
        fn a_number_comes_back(bits in 0u32..62, noise in any::<u64>(), rest in any::<u8>()) {
            let number = noise & ((2 << bits) - 1);
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            prop_assert_eq!(bytes.len(), len(number));
            bytes.push(rest);
            let mut bytes = Bytes::from(bytes);
            prop_assert_eq!(take(&mut bytes), Some(number));
            prop_assert_eq!(&bytes[..], &[rest]);
        }
    }
}
