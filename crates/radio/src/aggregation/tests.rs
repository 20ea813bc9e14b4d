use super::*;
use crate::airtime::{Guard, McsSet, Width};

fn mcs(format: Format, index: u8, width: Width, guard: Guard, streams: u8) -> Mcs {
    McsSet { format, width, guard, streams }.mcs(index, streams).unwrap()
}

/// Mbit/s of IP in packets of 1,500 bytes.
fn carried(how: Aggregation, mcs: Mcs) -> f64 {
    let (took, packets) = how.saturated(mcs, Bytes(1_500));
    packets as f64 * 12_000.0 / took.as_secs_f64() / 1e6
}

#[test]
fn subframes_have_delimiters_and_padding() {
    let mut psdu = Psdu::new(Format::Ht, 65_535);
    assert!(psdu.push(Bytes(1_500)));
    // 26 + 8 + 1,500 + 4; no delimiter before a single MPDU.
    assert_eq!(psdu.octets(), 1_538);
    assert!(psdu.push(Bytes(1_501)));
    // 1,542 and 2 of padding; 4 + 1,539 without.
    assert_eq!((psdu.octets(), psdu.mpdus()), (1_544 + 1_543, 2));
    let mut single = Psdu::new(Format::Vht, 65_535);
    assert!(single.push(Bytes(1_500)));
    assert_eq!(single.octets(), 1_542);
}

#[test]
fn an_a_mpdu_ends_at_the_first_of_its_limits() {
    let most = |how: Aggregation, mcs| how.saturated(mcs, Bytes(1_500)).1;
    // 65,535 bytes are 42 subframes of 1,544 bytes (the known figure of 802.11n).
    let n = Aggregation::usual(Format::Ht, Band::Ghz5);
    assert_eq!(most(n, mcs(Format::Ht, 7, Width::Mhz40, Guard::Ns400, 2)), 42);
    // 64 of them are 98,816 bytes.
    let ac = Aggregation::usual(Format::Vht, Band::Ghz5);
    assert_eq!(most(ac, mcs(Format::Vht, 9, Width::Mhz80, Guard::Ns400, 2)), 64);
    let ax = Aggregation::usual(Format::He, Band::Ghz5);
    assert_eq!(most(ax, mcs(Format::He, 11, Width::Mhz80, Guard::Ns800, 2)), 256);
    // 5,484 µs less 36 are 1,362 symbols of 26 bits: 4,425 bytes.
    assert_eq!(most(n, mcs(Format::Ht, 0, Width::Mhz20, Guard::Ns800, 1)), 2);
    let short = Aggregation { longest: Duration::from_millis(1), ..ac };
    assert_eq!(most(short, mcs(Format::Vht, 9, Width::Mhz80, Guard::Ns400, 1)), 33);
    let few = Aggregation { mpdus: 8, ..ac };
    assert_eq!(most(few, mcs(Format::Vht, 9, Width::Mhz80, Guard::Ns400, 2)), 8);
}

#[test]
fn an_exchange_takes_what_its_parts_take() {
    // MCS 7, 40 MHz, short guard interval, two streams: 300 Mbit/s, 1,080 bits a symbol. One frame: 1,538 bytes and 22 bits are 12
    // symbols, 43.2 -> 44 µs, behind 40 µs of preamble.
    let fast = mcs(Format::Ht, 7, Width::Mhz40, Guard::Ns400, 2);
    let how = Aggregation { mpdus: 1, ..Aggregation::usual(Format::Ht, Band::Ghz5) };
    let mut psdu = how.psdu(fast);
    psdu.push(Bytes(1_500));
    let one = AggregateExchange::new(how, fast, &psdu);
    assert_eq!(one.data(), Duration::from_micros(40 + 44));
    // AIFS 16 + 27, backoff 67.5, SIFS 16, acknowledgment at 24 Mbit/s 28.
    let micros = |n: u64| Duration::from_nanos(n * 1_000 + 500);
    assert_eq!(one.duration(0, true, false), micros(43 + 67 + 84 + 16 + 28));
    assert_eq!(one.duration(0, false, false), micros(43 + 67 + 84 + 16 + 28 + 9));
    // 31 slots of 9 µs, halved: 139.5.
    assert_eq!(one.duration(1, true, false), micros(43 + 139 + 84 + 16 + 28));
    assert_eq!(one.duration(6, true, false), one.duration(99, true, false));

    let several = Aggregation::usual(Format::Ht, Band::Ghz5);
    psdu.push(Bytes(1_500));
    let two = AggregateExchange::new(several, fast, &psdu);
    // 24,710 bits are 23 symbols, 82.8 -> 84 µs; a block acknowledgment of 32 bytes at 24 Mbit/s is 32 µs.
    assert_eq!(two.duration(0, true, false), micros(43 + 67 + 124 + 16 + 32));
    // A `BlockAckReq` of 24 bytes, 214 bits, is 3 symbols of 96: 32 µs.
    let request = Duration::from_micros(16 + 32 + 16 + 32);
    assert_eq!(two.duration(0, true, true), two.duration(0, true, false) + request);
    // 2.4 GHz: SIFS twice 6 µs shorter, two signal extensions.
    let lower = AggregateExchange::new(Aggregation { band: Band::Ghz2_4, ..several }, fast, &psdu);
    assert_eq!(lower.duration(0, true, false), two.duration(0, true, false));
}

#[test]
fn a_lone_station_gets_what_ns3_and_the_literature_have() {
    let ht = |width, guard, streams| mcs(Format::Ht, 7, width, guard, streams);
    let n = Aggregation::usual(Format::Ht, Band::Ghz5);
    let single = Aggregation { mpdus: 1, ..n };
    // ns-3's `wifi-aggregation` at 65 Mbit/s expects 58.5 to 59.5 Mbit/s of UDP, and 30 to 31 without aggregation; it acknowledges
    // at 6 Mbit/s, which costs an A-MPDU 36 us more than here.
    let udp = |how| carried(how, ht(Width::Mhz20, Guard::Ns800, 1)) * 1_472.0 / 1_500.0;
    assert!((udp(n) - 59.75).abs() < 0.01, "{}", udp(n));
    assert!((udp(single) - 30.79).abs() < 0.01, "{}", udp(single));
    // Ginzburg and Kesselman 2007, 2x2: 95 % of the channel with A-MPDUs "in the ideal case", 33 % without. The abstract gives no
    // rate; at 130 Mbit/s it is 93 and 32 %.
    let percent = |how| carried(how, ht(Width::Mhz20, Guard::Ns800, 2)) / 1.3;
    assert!((percent(n) - 92.6).abs() < 0.1, "{}", percent(n));
    assert!((percent(single) - 31.8).abs() < 0.1, "{}", percent(single));
}
