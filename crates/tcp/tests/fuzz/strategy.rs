//! How proptest makes cases: which operations are likely, and how large their numbers.

use handfast_tcp::CongestionControl;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::{Blind, Case, Choices, Direction, Op, Setup, Side};
use crate::hostile::{Attack, Deed, Forged, Near};
use crate::reach::Start;

pub fn case() -> impl Strategy<Value = Case> {
    (setup(), vec(op(), 0..40)).prop_map(|(setup, ops)| Case { setup, ops })
}

fn setup() -> impl Strategy<Value = Setup> {
    (choices(), choices(), iss(), iss(), 0u8..200, prop::bool::weighted(0.1)).prop_map(
        |(client, server, client_iss, server_iss, delay_ms, both_open)| Setup {
            client,
            server,
            client_iss,
            server_iss,
            delay_ms,
            both_open,
        },
    )
}

/// Anywhere, and more often just below the wrap.
fn iss() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), any::<u32>(), (0u32..100_000).prop_map(|below| u32::MAX - below)]
}

fn choices() -> impl Strategy<Value = Choices> {
    let features = (any::<bool>(), weighted(), weighted(), weighted(), any::<bool>(), any::<bool>(), 0u8..3);
    let numbers = (0u8..3, 0u8..3, 0u8..6, 0u8..7, 0u8..4, 0u8..3, 0u8..4, 0u8..3);
    // SACK and RACK have the most rules to break.
    let recovery = prop_oneof![0u8..3, Just(3), 4u8..6];
    let linux = prop_oneof![2 => Just(0u8), 1 => Just(63), 2 => any::<u8>()];
    let life = prop_oneof![3 => Just(0u8), 1 => 1u8..4, 1 => any::<u8>()];
    (
        recovery,
        0u8..CongestionControl::WORDS.len() as u8,
        features,
        numbers,
        (0u8..2, 0u8..3, linux, any::<bool>(), life),
    )
        .prop_map(
            |(recovery, growth, features, numbers, (slow_start_segments, nagle, linux, iosl, life))| {
                let (eifel, timestamps, sack, window_scaling, limited_transmit, cwnd_validation, frto) =
                    features;
                let (
                    delayed_ack,
                    initial_window,
                    mss,
                    receive_buffer,
                    rto,
                    retries,
                    cwnd_clamp,
                    initial_ssthresh,
                ) = numbers;
                Choices {
                    recovery,
                    growth,
                    eifel,
                    frto,
                    timestamps,
                    sack,
                    window_scaling,
                    limited_transmit,
                    cwnd_validation,
                    delayed_ack,
                    initial_window,
                    mss,
                    receive_buffer,
                    rto,
                    retries,
                    cwnd_clamp,
                    initial_ssthresh,
                    slow_start_segments,
                    nagle,
                    linux,
                    iosl,
                    life,
                }
            },
        )
}

fn weighted() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.75)
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![3 => Just(Side::Client), 2 => Just(Side::Server)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (side(), prop_oneof![1u16..2000, any::<u16>()], any::<bool>())
            .prop_map(|(side, len, real)| Op::Write { side, len, real }),
        12 => prop_oneof![0u16..600, 0u16..10_000].prop_map(|ms| Op::Advance { ms }),
        4 => (side(), 0u8..32, 1u8..8).prop_map(|(from, skip, n)| Op::Lose { from, skip, n }),
        1 => (side(), 0u8..8, 1u8..64).prop_map(|(from, skip, n)| Op::Lose { from, skip, n }),
        1 => (side(), 1u8..4).prop_map(|(from, n)| Op::Corrupt { from, n }),
        2 => (side(), 1u8..16, any::<u8>()).prop_map(|(from, n, ms)| Op::Duplicate { from, n, ms }),
        2 => (side(), 1u8..8, any::<u8>()).prop_map(|(from, n, ms)| Op::Reorder { from, n, ms }),
        2 => (side(), 1u8..64, any::<u16>()).prop_map(|(from, n, ms)| Op::Delay { from, n, ms }),
        2 => (prop_oneof![3 => 0u16..1000, 1 => any::<u16>()], any::<bool>(), direction())
            .prop_map(|(cs, hold, direction)| Op::Outage { cs, hold, direction }),
        1 => side().prop_map(|side| Op::StopReading { side }),
        1 => (side(), any::<u16>()).prop_map(|(side, len)| Op::ReadSome { side, len }),
        1 => side().prop_map(|side| Op::Read { side }),
        1 => side().prop_map(|side| Op::Close { side }),
        1 => side().prop_map(|side| Op::HandOver { side }),
        2 => (side(), prop_oneof![0u16..2000, any::<u16>()], any::<bool>())
            .prop_map(|(side, ms, cut)| Op::Suspend { side, ms, cut }),
        1 => (side(), any::<u8>(), any::<bool>()).prop_map(|(side, mbps, weak)| Op::Radio { side, mbps, weak }),
        1 => (side(), blind()).prop_map(|(to, what)| Op::Inject { to, what }),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![2 => Just(Direction::Both), 1 => side().prop_map(Direction::From)]
}

fn blind() -> impl Strategy<Value = Blind> {
    prop_oneof![
        (any::<u16>(), any::<bool>()).prop_map(|(off, behind)| Blind::Reset { off, behind }),
        any::<u16>().prop_map(|off| Blind::Syn { off }),
        any::<u8>().prop_map(|len| Blind::Old { len }),
        (any::<u16>(), any::<u8>()).prop_map(|(off, len)| Blind::Beyond { off, len }),
        (any::<u16>(), any::<u8>()).prop_map(|(off, len)| Blind::AckOfUnsent { off, len }),
        (any::<u16>(), any::<u8>()).prop_map(|(off, len)| Blind::Stale { off, len }),
        any::<u8>().prop_map(|len| Blind::Untimed { len }),
    ]
}

pub fn attack() -> impl Strategy<Value = Attack> {
    (setup(), prop::sample::select(Start::ALL.as_slice()), vec(deed(), 1..25))
        .prop_map(|(setup, start, deeds)| Attack { setup, start, deeds })
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        20 => forged().prop_map(Deed::Send),
        1 => (0u8..4, any::<u8>(), any::<u16>(), any::<bool>())
            .prop_map(|(step, len, n, backwards)| Deed::Pepper { step, len, n, backwards }),
        1 => (0u8..4, any::<u16>()).prop_map(|(step, n)| Deed::PepperSacks { step, n }),
        2 => any::<u16>().prop_map(|len| Deed::Write { len }),
        1 => any::<u16>().prop_map(|len| Deed::Read { len }),
        1 => Just(Deed::Close),
        4 => prop_oneof![0u16..500, any::<u16>()].prop_map(|ms| Deed::Advance { ms }),
        1 => (octets(), any::<bool>()).prop_map(|(octets, resend)| Deed::PathMss { octets, resend }),
        2 => near().prop_map(|seq| Deed::Unreachable { seq }),
        1 => probe(),
    ]
}

/// A size of segments: usual, at the ends of its range, or any.
fn octets() -> impl Strategy<Value = u16> {
    prop_oneof![40u16..1500, Just(0), Just(u16::MAX), any::<u16>()]
}

fn probe() -> impl Strategy<Value = Deed> {
    let threshold = prop_oneof![Just(0u16), 1u16..20, any::<u16>()];
    (any::<bool>(), octets(), octets(), threshold, any::<u16>()).prop_map(
        |(always, base, floor, threshold, interval_ms)| Deed::Probe {
            always,
            base,
            floor,
            threshold,
            interval_ms,
        },
    )
}

/// Mostly what gets past the first checks: an acceptable number, an acknowledgement of something sent.
fn forged() -> impl Strategy<Value = Forged> {
    let flags = prop_oneof![
        6 => Just(0x10u8),
        2 => Just(0x11),
        1 => Just(0x04),
        1 => Just(0x14),
        1 => Just(0x02),
        1 => Just(0x12),
        2 => any::<u8>(),
    ];
    let len = prop_oneof![3 => Just(0u16), 2 => 1u16..20, 2 => any::<u16>()];
    let window = prop_oneof![2 => Just(0u16), 2 => 1u16..100, 4 => any::<u16>()];
    let timestamps = prop::option::weighted(0.8, (-2i8..20, any::<i8>()));
    let sack = prop::array::uniform4(prop::option::weighted(0.3, (near(), near())));
    let options = (prop::option::of(any::<u16>()), prop::option::of(any::<u8>()), any::<bool>());
    (near(), near(), flags, window, timestamps, sack, len, options).prop_map(
        |(seq, ack, flags, window, timestamps, sack, len, (mss, window_scale, sack_permitted))| Forged {
            seq,
            ack,
            flags,
            window,
            timestamps,
            sack,
            len,
            mss,
            window_scale,
            sack_permitted,
        },
    )
}

fn near() -> impl Strategy<Value = Near> {
    prop_oneof![
        4 => Just(Near::Low(0)),
        2 => (-3i8..4).prop_map(Near::Low),
        2 => (-3i8..4).prop_map(Near::High),
        4 => any::<u16>().prop_map(Near::Within),
        1 => any::<u32>().prop_map(Near::Any),
    ]
}
