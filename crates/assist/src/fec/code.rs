//! The code: repair symbols of a block of packets, and what is missing from those that are there.
//!
//! A symbol is the length of a packet, the packet and zeros up to the length of the longest (RFC 6363 §4 and RFC 8681 §3.2: the
//! ADU information, so that a packet can be cut out of what was recovered). One repair symbol is the exclusive or of all, as in
//! RFC 5109; several are Reed-Solomon's, each of which makes up for any one packet.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Bytes of the length before a packet.
const LENGTH: usize = 2;

/// The repair symbols of a block.
pub(super) fn repairs(block: &[Bytes], count: usize) -> Vec<Bytes> {
    let len = symbol_len(block);
    if count == 1 {
        let mut sum = vec![0; len];
        for packet in block {
            add(&mut sum, &symbol(packet, len));
        }
        return vec![sum.into()];
    }
    let symbols = block.iter().map(|packet| symbol(packet, len));
    // Counts and lengths are what the code takes: at most 64 of either kind, of the same even length.
    let encoded = reed_solomon_simd::encode(block.len(), count, symbols);
    encoded.unwrap_or_default().into_iter().map(Bytes::from).collect()
}

/// Of a block of so many packets with so many repair symbols those packets that are not there, by their place. `symbols`: repair
/// symbols by their place, no fewer than packets are missing. Nothing where these do not belong together.
pub(super) fn recover(
    there: &BTreeMap<usize, Bytes>,
    symbols: &BTreeMap<usize, Bytes>,
    [count, repairs]: [usize; 2],
) -> Vec<(usize, Bytes)> {
    let Some(len) = symbols.values().next().map(Bytes::len) else { return Vec::new() };
    if there.values().any(|packet| LENGTH + packet.len() > len) {
        return Vec::new();
    }
    let found: BTreeMap<usize, Vec<u8>> = if repairs == 1 {
        let mut sum = symbols.values().next().map(|symbol| symbol.to_vec()).unwrap_or_default();
        for packet in there.values() {
            add(&mut sum, &symbol(packet, len));
        }
        (0..count).find(|place| !there.contains_key(place)).map(|place| (place, sum)).into_iter().collect()
    } else {
        let there = there.iter().map(|(&place, packet)| (place, symbol(packet, len)));
        let symbols = symbols.iter().map(|(&place, symbol)| (place, symbol));
        reed_solomon_simd::decode(count, repairs, there, symbols).unwrap_or_default().into_iter().collect()
    };
    found.into_iter().filter_map(|(place, symbol)| Some((place, cut_out(&symbol.into())?))).collect()
}

/// Even, as Reed-Solomon's symbols of 16 bits ask.
fn symbol_len(block: &[Bytes]) -> usize {
    let longest = block.iter().map(Bytes::len).max().unwrap_or_default();
    (LENGTH + longest).next_multiple_of(2)
}

fn symbol(packet: &Bytes, len: usize) -> Vec<u8> {
    let mut symbol = Vec::with_capacity(len);
    symbol.extend_from_slice(&(packet.len() as u16).to_be_bytes());
    symbol.extend_from_slice(packet);
    symbol.resize(len, 0);
    symbol
}

fn cut_out(symbol: &Bytes) -> Option<Bytes> {
    let len = usize::from(u16::from_be_bytes(*symbol.first_chunk()?));
    (LENGTH + len <= symbol.len()).then(|| symbol.slice(LENGTH..LENGTH + len))
}

fn add(sum: &mut [u8], symbol: &[u8]) {
    sum.iter_mut().zip(symbol).for_each(|(sum, byte)| *sum ^= byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block() -> impl Strategy<Value = Vec<Bytes>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from), 1..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// RFC 8681 §1, of a maximum-distance-separable code: any so many symbols give all packets back.
        #[test]
        fn as_many_symbols_as_packets_are_missing_bring_them_back(
            block in block(), count in 1_usize..5, lost in prop::collection::vec(any::<prop::sample::Index>(), 4),
            first in any::<prop::sample::Index>()
        ) {
            let made = repairs(&block, count);
            prop_assert_eq!(made.len(), count);
            let mut there: BTreeMap<_, _> = block.iter().cloned().enumerate().collect();
            lost.iter().take(count).for_each(|lost| _ = there.remove(&lost.index(block.len())));
            let missing = block.len() - there.len();
            // As few symbols as will do, from any one on.
            let places = (0..missing).map(|n| (first.index(count) + n) % count);
            let symbols = places.map(|place| (place, made[place].clone())).collect();
            let found = recover(&there, &symbols, [block.len(), count]);
            let expected: Vec<_> =
                (0..block.len()).filter(|place| !there.contains_key(place)).map(|place| (place, block[place].clone())).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_symbols_are_survived(
            block in block(), symbols in block(), repairs in 1_usize..13
        ) {
            let there: BTreeMap<_, _> = block.iter().cloned().enumerate().skip(1).collect();
            let symbols: BTreeMap<_, _> = symbols.into_iter().enumerate().filter(|(place, _)| *place < repairs).collect();
            prop_assert!(recover(&there, &symbols, [block.len(), repairs]).len() <= 1);
        }
    }
}
