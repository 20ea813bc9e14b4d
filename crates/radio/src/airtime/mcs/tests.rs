use super::*;
use Guard::{Ns400, Ns800, Ns1600, Ns3200};
use Width::{Mhz20, Mhz40, Mhz80, Mhz160};

/// Of the schemes on so many streams the rates in tenths of Mbit/s, as the standard's tables print them; zero where they have none.
fn tenths(format: Format, width: Width, guard: Guard, streams: u8) -> Vec<u64> {
    let set = McsSet { format, width, guard, streams };
    let rate = |index| set.mcs(index, streams).map_or(0, |mcs| (mcs.bit_rate().as_bps() + 50_000) / 100_000);
    (0..format.codings()).map(rate).collect()
}

#[track_caller]
fn check(format: Format, streams: u8, tables: &[(Width, Guard, &[u64])]) {
    for &(width, guard, listed) in tables {
        assert_eq!(tenths(format, width, guard, streams), listed, "{format:?} {width:?} {guard:?} {streams}");
    }
}

#[test]
fn ht_has_the_rates_of_tables_19_27_to_19_34() {
    check(
        Format::Ht,
        1,
        &[
            (Mhz20, Ns800, &[65, 130, 195, 260, 390, 520, 585, 650]),
            (Mhz20, Ns400, &[72, 144, 217, 289, 433, 578, 650, 722]),
            (Mhz40, Ns800, &[135, 270, 405, 540, 810, 1080, 1215, 1350]),
            (Mhz40, Ns400, &[150, 300, 450, 600, 900, 1200, 1350, 1500]),
        ],
    );
    check(
        Format::Ht,
        2,
        &[
            (Mhz20, Ns800, &[130, 260, 390, 520, 780, 1040, 1170, 1300]),
            (Mhz20, Ns400, &[144, 289, 433, 578, 867, 1156, 1300, 1444]),
            (Mhz40, Ns800, &[270, 540, 810, 1080, 1620, 2160, 2430, 2700]),
            (Mhz40, Ns400, &[300, 600, 900, 1200, 1800, 2400, 2700, 3000]),
        ],
    );
    check(
        Format::Ht,
        3,
        &[
            (Mhz20, Ns800, &[195, 390, 585, 780, 1170, 1560, 1755, 1950]),
            (Mhz20, Ns400, &[217, 433, 650, 867, 1300, 1733, 1950, 2167]),
            (Mhz40, Ns800, &[405, 810, 1215, 1620, 2430, 3240, 3645, 4050]),
            (Mhz40, Ns400, &[450, 900, 1350, 1800, 2700, 3600, 4050, 4500]),
        ],
    );
    check(
        Format::Ht,
        4,
        &[
            (Mhz20, Ns800, &[260, 520, 780, 1040, 1560, 2080, 2340, 2600]),
            (Mhz20, Ns400, &[289, 578, 867, 1156, 1733, 2311, 2600, 2889]),
            (Mhz40, Ns800, &[540, 1080, 1620, 2160, 3240, 4320, 4860, 5400]),
            (Mhz40, Ns400, &[600, 1200, 1800, 2400, 3600, 4800, 5400, 6000]),
        ],
    );
}

#[test]
fn vht_has_the_rates_of_tables_21_30_to_21_61() {
    check(
        Format::Vht,
        1,
        &[
            (Mhz20, Ns800, &[65, 130, 195, 260, 390, 520, 585, 650, 780, 0]),
            (Mhz20, Ns400, &[72, 144, 217, 289, 433, 578, 650, 722, 867, 0]),
            (Mhz40, Ns800, &[135, 270, 405, 540, 810, 1080, 1215, 1350, 1620, 1800]),
            (Mhz40, Ns400, &[150, 300, 450, 600, 900, 1200, 1350, 1500, 1800, 2000]),
            (Mhz80, Ns800, &[293, 585, 878, 1170, 1755, 2340, 2633, 2925, 3510, 3900]),
            (Mhz80, Ns400, &[325, 650, 975, 1300, 1950, 2600, 2925, 3250, 3900, 4333]),
            (Mhz160, Ns800, &[585, 1170, 1755, 2340, 3510, 4680, 5265, 5850, 7020, 7800]),
            (Mhz160, Ns400, &[650, 1300, 1950, 2600, 3900, 5200, 5850, 6500, 7800, 8667]),
        ],
    );
    check(
        Format::Vht,
        3,
        &[
            (Mhz20, Ns800, &[195, 390, 585, 780, 1170, 1560, 1755, 1950, 2340, 2600]),
            (Mhz20, Ns400, &[217, 433, 650, 867, 1300, 1733, 1950, 2167, 2600, 2889]),
            (Mhz80, Ns800, &[878, 1755, 2633, 3510, 5265, 7020, 0, 8775, 10530, 11700]),
            (Mhz80, Ns400, &[975, 1950, 2925, 3900, 5850, 7800, 0, 9750, 11700, 13000]),
            (Mhz160, Ns400, &[1950, 3900, 5850, 7800, 11700, 15600, 17550, 19500, 23400, 0]),
        ],
    );
    check(
        Format::Vht,
        4,
        &[
            (Mhz20, Ns800, &[260, 520, 780, 1040, 1560, 2080, 2340, 2600, 3120, 0]),
            (Mhz80, Ns400, &[1300, 2600, 3900, 5200, 7800, 10400, 11700, 13000, 15600, 17333]),
            (Mhz160, Ns400, &[2600, 5200, 7800, 10400, 15600, 20800, 23400, 26000, 31200, 34667]),
        ],
    );
    assert_eq!(tenths(Format::Vht, Mhz160, Ns400, 8)[9], 69_333);
}

#[test]
fn he_has_the_rates_of_the_tables_of_27_5() {
    // Where the bits of a symbol are no whole number they are rounded down (§27.5). Tables on the web that do not round
    // have 600.5 and 960.8 Mbit/s for 600.4 and 960.7.
    check(
        Format::He,
        1,
        &[
            (Mhz20, Ns800, &[86, 172, 258, 344, 516, 688, 774, 860, 1032, 1147, 1290, 1434]),
            (Mhz20, Ns1600, &[81, 163, 244, 325, 488, 650, 731, 813, 975, 1083, 1219, 1354]),
            (Mhz20, Ns3200, &[73, 146, 219, 293, 439, 585, 658, 731, 878, 975, 1097, 1219]),
            (Mhz40, Ns800, &[172, 344, 516, 688, 1032, 1376, 1549, 1721, 2065, 2294, 2581, 2868]),
            (Mhz40, Ns1600, &[163, 325, 488, 650, 975, 1300, 1463, 1625, 1950, 2167, 2438, 2708]),
            (Mhz80, Ns800, &[360, 721, 1081, 1441, 2162, 2882, 3243, 3603, 4324, 4804, 5404, 6004]),
            (Mhz80, Ns1600, &[340, 681, 1021, 1361, 2042, 2722, 3063, 3403, 4083, 4537, 5104, 5671]),
            (Mhz80, Ns3200, &[306, 613, 919, 1225, 1838, 2450, 2756, 3063, 3675, 4083, 4594, 5104]),
            (Mhz160, Ns800, &[721, 1441, 2162, 2882, 4324, 5765, 6485, 7206, 8647, 9607, 10809, 12010]),
            (Mhz160, Ns3200, &[613, 1225, 1838, 2450, 3675, 4900, 5513, 6125, 7350, 8166, 9188, 10208]),
        ],
    );
    assert_eq!(tenths(Format::He, Mhz160, Ns800, 8)[11], 96_078);
}

#[test]
fn the_excluded_schemes_are_those_whose_bits_do_not_divide_among_the_encoders() {
    // §21.3.10.5.4: an encoder a 600 Mbit/s, at the short guard interval; with up to four streams the exceptions that the
    // standard makes of that rule concern no excluded scheme but the one of three streams in 160 MHz.
    for &width in Format::Vht.widths() {
        for streams in 1..=4 {
            let set = McsSet { format: Format::Vht, width, guard: Ns400, streams };
            for index in 0..10 {
                let mcs = Mcs { channel: set, index, streams };
                let Coding { bits, code } = mcs.coding();
                let coded = Format::Vht.subcarriers(width) * bits * u64::from(streams);
                let encoders = mcs.bit_rate().as_bps().div_ceil(600_000_000);
                let data = (coded * code.0).is_multiple_of(code.1 * encoders);
                let whole = coded.is_multiple_of(encoders) && data;
                // IEEE 802.11-2020 table 21-57: six encoders there, not five.
                let widened = (width, streams, index) == (Mhz160, 4, 7);
                assert_eq!(set.mcs(index, streams).is_some(), whole || widened, "{mcs:?}");
            }
        }
    }
}

#[test]
fn a_set_refuses_what_its_format_lacks() {
    let set = |format, width, guard, streams| McsSet { format, width, guard, streams };
    assert!(set(Format::Ht, Mhz40, Ns400, 4).is_valid());
    assert!(!set(Format::Ht, Mhz80, Ns400, 1).is_valid());
    assert!(!set(Format::Vht, Mhz80, Ns1600, 1).is_valid());
    assert!(!set(Format::He, Mhz80, Ns400, 1).is_valid());
    assert!(!set(Format::Ht, Mhz20, Ns400, 5).is_valid());
    assert_eq!(set(Format::Ht, Mhz20, Ns400, 1).mcs(0, 2), None);
    assert_eq!(set(Format::Ht, Mhz20, Ns400, 4).all().count(), 32);
    assert_eq!(set(Format::Vht, Mhz80, Ns400, 3).all().count(), 29);
}

#[test]
fn a_rate_is_found_as_tables_print_it() {
    let set = McsSet { format: Format::Vht, width: Mhz80, guard: Ns400, streams: 2 };
    let find =
        |kbps: u64| set.of_bit_rate(BitRate::from_bps(kbps * 1_000)).map(|mcs| (mcs.index, mcs.streams));
    assert_eq!(find(866_700), Some((9, 2)));
    assert_eq!(find(866_667), Some((9, 2)));
    // 65 Mbit/s are QPSK on one stream and BPSK on two.
    assert_eq!(find(65_000), Some((1, 1)));
    assert_eq!([find(866_500), find(866_800)], [None; 2]);
    assert_eq!(set.mcs(9, 2).unwrap().to_string(), "866.7Mbit/s");
}

#[test]
fn the_signal_chooses_by_the_standards_sensitivities() {
    let set = McsSet { format: Format::He, width: Mhz20, guard: Ns800, streams: 2 };
    let index = |dbm: i32| set.at(Dbm(dbm)).index;
    let signals = [-99_000, -82_000, -79_000, -64_001, -64_000, -59_000, -57_000, -54_000, -52_000, -30_000];
    assert_eq!(signals.map(index), [0, 0, 1, 6, 7, 8, 9, 10, 11, 11]);
    let streams = |dbm: i32| set.at(Dbm(dbm)).streams;
    assert_eq!([-82_001, -82_000].map(streams), [1, 2]);
    // 9 dB more in 160 MHz; QPSK 3/4 must be understood at -68 dBm there.
    let wide = McsSet { format: Format::Vht, width: Mhz160, guard: Ns400, streams: 1 };
    assert_eq!([-68_001, -68_000].map(|dbm| wide.at(Dbm(dbm)).index), [1, 2]);
    // The excluded scheme is passed over.
    let three = McsSet { format: Format::Vht, width: Mhz80, guard: Ns400, streams: 3 };
    assert_eq!(three.at(Dbm(-59_000)).index, 5);
}

#[test]
fn acknowledgments_have_the_mandatory_rate_below_the_reference() {
    let set = McsSet { format: Format::He, width: Mhz20, guard: Ns800, streams: 1 };
    let rates: Vec<Rate> = set.all().map(Mcs::of_acknowledgment).collect();
    let (slow, middle, fast) = (Rate::Ofdm6, Rate::Ofdm12, Rate::Ofdm24);
    assert_eq!(rates[..5], [slow, middle, middle, fast, fast]);
    assert!(rates[5..].iter().all(|&rate| rate == fast));
}
