//! How long a PPDU of 802.11n, ac or ax is on the air.

use handfast_core::Duration;

use super::{Band, Format, Guard, Mcs, Width};

/// `aPPDUMaxTime` of HT-mixed, VHT and HE PPDUs (IEEE 802.11-2020 tables 19-25 and 21-29; 802.11ax-2021 §27.4.4).
pub const LONGEST: Duration = Duration::from_micros(5_484);

/// Bits of the SERVICE field.
const SERVICE: u64 = 16;
/// The legacy preamble: L-STF 8 µs and L-LTF 8 µs.
const LEGACY: u64 = 16_000;
/// Any further signal field or short training field that is a symbol of 4 µs.
const SYMBOL: u64 = 4_000;

impl Mcs {
    /// How long a PSDU of so many bytes is on the air, preamble included.
    pub fn ppdu(self, band: Band, bytes: u64) -> Duration {
        let extension = band.signal_extension();
        Duration::from_nanos(self.preamble() + self.symbols(bytes) + self.packet_extension(bytes)) + extension
    }

    /// The longest PSDU, in bytes, whose PPDU takes at most so long.
    pub fn fits(self, band: Band, longest: Duration) -> u64 {
        // The packet extension at its longest.
        let around = self.preamble() + if self.is_he() { PE_LONGEST } else { 0 };
        let left = longest.saturating_sub(band.signal_extension()).as_nanos().saturating_sub(around);
        let symbols = match self.channel().format {
            // What the symbols of a short guard interval take is rounded up to 4 µs.
            Format::Ht | Format::Vht => left / SYMBOL * SYMBOL / self.symbol().as_nanos(),
            Format::He => left / self.symbol().as_nanos(),
        };
        (symbols * self.bits_per_symbol()).saturating_sub(SERVICE + self.tail()) / 8
    }

    /// In ns (IEEE 802.11-2020 §19.4.3 and §21.4.3; 802.11ax-2021 §27.4.3).
    fn preamble(self) -> u64 {
        match self.channel().format {
            // L-SIG, two symbols of HT-SIG, HT-STF.
            Format::Ht => LEGACY + (1 + 2 + 1) * SYMBOL + self.training() * SYMBOL,
            // L-SIG, two symbols of VHT-SIG-A, VHT-STF, VHT-SIG-B.
            Format::Vht => LEGACY + (1 + 2 + 1 + 1) * SYMBOL + self.training() * SYMBOL,
            // L-SIG, RL-SIG, two symbols of HE-SIG-A, HE-STF.
            Format::He => LEGACY + (1 + 1 + 2 + 1) * SYMBOL + self.training() * self.training_symbol(),
        }
    }

    /// Long training fields for data (IEEE 802.11-2020 tables 19-13 and 21-13).
    const fn training(self) -> u64 {
        match self.streams() {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        }
    }

    /// An HE-LTF in ns: 2x with a guard interval of 0.8 and 1.6 µs, 4x with 3.2 µs, the combinations that every station has
    /// (802.11ax-2021 §27.1.1).
    const fn training_symbol(self) -> u64 {
        let guard = self.channel().guard;
        let useful = if matches!(guard, Guard::Ns3200) { 12_800 } else { 6_400 };
        useful + guard.nanos()
    }

    /// What the data symbols take, in ns.
    fn symbols(self, bytes: u64) -> u64 {
        let bits = SERVICE + 8 * bytes + self.tail();
        let took = bits.div_ceil(self.bits_per_symbol()) * self.symbol().as_nanos();
        match self.channel().format {
            // The end of a PPDU with a short guard interval is that of a symbol with the long one.
            Format::Ht | Format::Vht => took.div_ceil(SYMBOL) * SYMBOL,
            Format::He => took,
        }
    }

    /// Tail bits: six for each convolutional encoder, one up to 300 Mbit/s of 802.11n and for each 600 Mbit/s of ac (IEEE
    /// 802.11-2020 §19.3.11.4, §21.3.10.5.4). 802.11ax has a code without them, LDPC.
    const fn tail(self) -> u64 {
        let mbps = self.bit_rate().as_bps().div_ceil(1_000_000);
        match self.channel().format {
            Format::Ht => 6 * mbps.div_ceil(300),
            Format::Vht => 6 * mbps.div_ceil(600),
            Format::He => 0,
        }
    }

    const fn is_he(self) -> bool {
        matches!(self.channel().format, Format::He)
    }

    /// What follows the last symbol of 802.11ax, in ns: 4 µs for each quarter of it that carries data, the extension that
    /// receivers may ask for at most (802.11ax-2021 §27.3.12 and §27.3.13: a nominal 16 µs).
    fn packet_extension(self, bytes: u64) -> u64 {
        if !self.is_he() {
            return 0;
        }
        let excess = (SERVICE + 8 * bytes) % self.bits_per_symbol();
        let (bits, code) = (self.coding().bits, self.coding().code);
        let quarter = self.short_carriers() * bits * u64::from(self.streams()) * code.0 / code.1;
        // §27.3.12.5: all of the symbol where nothing is in excess.
        let factor = if excess == 0 { 4 } else { excess.div_ceil(quarter.max(1)).min(4) };
        factor * 4_000
    }

    /// `N_SD,short` (802.11ax-2021 §27.3.12.5).
    const fn short_carriers(self) -> u64 {
        match self.channel().width {
            Width::Mhz20 => 60,
            Width::Mhz40 => 120,
            Width::Mhz80 => 240,
            Width::Mhz160 => 492,
        }
    }
}

/// The longest packet extension, in ns.
const PE_LONGEST: u64 = 16_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::airtime::McsSet;
    use proptest::prelude::*;

    fn mcs(format: Format, index: u8, width: Width, guard: Guard, streams: u8) -> Mcs {
        McsSet { format, width, guard, streams }.mcs(index, streams).unwrap()
    }

    /// Bytes and ns, as ns-3's test of durations has them (`tx-duration-test.cc`), of 1,536, 76 and 14 bytes on one stream. What
    /// ns-3 leaves out is put back: with a short guard interval the end waits for a whole 4 µs; an HE-LTF is 7.2 to 16 µs, not 8;
    /// a packet extension follows.
    #[track_caller]
    fn check(mcs: Mcs, preamble: u64, known: [u64; 3]) {
        for (bytes, known) in [1_536, 76, 14].into_iter().zip(known) {
            let symbols =
                if mcs.is_he() { known - preamble } else { (known - preamble).div_ceil(4_000) * 4_000 };
            assert_eq!(mcs.symbols(bytes), symbols, "{mcs:?}, {bytes} bytes");
            if !mcs.is_he() {
                assert_eq!(mcs.ppdu(Band::Ghz5, bytes), Duration::from_nanos(preamble + symbols));
            }
        }
    }

    #[test]
    fn ht_takes_what_ns3_lists() {
        let ht = |index, width, guard| mcs(Format::Ht, index, width, guard, 1);
        check(ht(7, Width::Mhz20, Guard::Ns800), 36_000, [228_000, 48_000, 40_000]);
        check(ht(0, Width::Mhz20, Guard::Ns400), 36_000, [1_742_400, 126_000, 57_600]);
        check(ht(6, Width::Mhz20, Guard::Ns400), 36_000, [226_800, 46_800, 39_600]);
        check(ht(7, Width::Mhz40, Guard::Ns800), 36_000, [128_000, 44_000, 40_000]);
        check(ht(7, Width::Mhz40, Guard::Ns400), 36_000, [118_800, 43_200, 39_600]);
    }

    #[test]
    fn vht_takes_what_ns3_lists_and_the_symbol_of_sig_b() {
        // ns-3's figures have a preamble of 36 µs; VHT-SIG-B makes it 40 µs (IEEE 802.11-2020 §21.4.3).
        let vht = |index, width, guard| mcs(Format::Vht, index, width, guard, 1);
        let check = |mcs, known: [u64; 3]| check(mcs, 40_000, known.map(|known| known + 4_000));
        check(vht(8, Width::Mhz20, Guard::Ns800), [196_000, 48_000, 40_000]);
        check(vht(8, Width::Mhz20, Guard::Ns400), [180_000, 46_800, 39_600]);
        check(vht(9, Width::Mhz40, Guard::Ns800), [108_000, 40_000, 40_000]);
        check(vht(0, Width::Mhz80, Guard::Ns800), [460_000, 60_000, 44_000]);
        check(vht(9, Width::Mhz80, Guard::Ns400), [64_800, 39_600, 39_600]);
        check(vht(8, Width::Mhz160, Guard::Ns800), [56_000, 40_000, 40_000]);
    }

    #[test]
    fn the_symbols_of_he_take_what_ns3_lists() {
        let he = |index, width, guard| mcs(Format::He, index, width, guard, 1);
        check(he(0, Width::Mhz20, Guard::Ns800), 44_000, [1_485_600, 125_600, 71_200]);
        check(he(0, Width::Mhz40, Guard::Ns1600), 44_000, [807_200, 87_200, 58_400]);
        check(he(0, Width::Mhz80, Guard::Ns3200), 44_000, [460_000, 76_000, 60_000]);
        check(he(0, Width::Mhz160, Guard::Ns800), 44_000, [220_800, 57_600, 57_600]);
        check(he(11, Width::Mhz20, Guard::Ns800), 44_000, [139_200, 57_600, 57_600]);
        check(he(11, Width::Mhz80, Guard::Ns1600), 44_000, [72_800, 58_400, 58_400]);
    }

    #[test]
    fn he_has_its_training_fields_and_extension() {
        // 36 µs before the HE-LTFs, 2 of 7.2 µs, one symbol; 128 of 234 bits, more than one quarter of 60: two of 120 would do.
        let one = mcs(Format::He, 0, Width::Mhz20, Guard::Ns800, 2);
        assert_eq!(one.ppdu(Band::Ghz5, 14), Duration::from_nanos(36_000 + 14_400 + 13_600 + 12_000));
        assert_eq!(
            one.ppdu(Band::Ghz2_4, 14),
            Duration::from_nanos(36_000 + 14_400 + 13_600 + 12_000 + 6_000)
        );
        // 4x HE-LTF: four of 16 µs for three streams.
        assert_eq!(mcs(Format::He, 0, Width::Mhz20, Guard::Ns3200, 3).preamble(), 36_000 + 64_000);
    }

    #[test]
    fn every_stream_has_training_of_its_own() {
        let fields: Vec<u64> =
            (1..=8).map(|n| mcs(Format::Vht, 0, Width::Mhz20, Guard::Ns800, n).preamble() / 1_000).collect();
        assert_eq!(fields, [40, 44, 52, 52, 60, 60, 68, 68]);
    }

    proptest! {
        #[test]
        fn what_fits_fits_and_hardly_more_does(
            format in prop::sample::select(vec![Format::Ht, Format::Vht, Format::He]),
            (index, streams) in (0_u8..8, 1_u8..=4),
            long in any::<bool>(),
            micros in 200_u64..5_485,
        ) {
            let guard = format.guards()[usize::from(long)];
            let set = McsSet { format, width: Width::Mhz40, guard, streams };
            let Some(mcs) = set.mcs(index, streams) else { return Ok(()) };
            let longest = Duration::from_micros(micros);
            let bytes = mcs.fits(Band::Ghz5, longest);
            prop_assume!(bytes > 0);
            prop_assert!(mcs.ppdu(Band::Ghz5, bytes) <= longest);
            // Two symbols more: one for the rounding, one where the extension is not at its longest.
            let more = bytes + 3 * mcs.bits_per_symbol() / 8 + 1;
            prop_assert!(mcs.ppdu(Band::Ghz5, more) > longest);
        }
    }
}
