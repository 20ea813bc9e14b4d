use proptest::prelude::*;

use super::*;

pub(crate) fn number() -> impl Strategy<Value = u64> {
    (0u32..62, any::<u64>()).prop_map(|(bits, noise)| noise & ((2 << bits) - 1))
}

fn octets(least: usize) -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), least..300).prop_map(Bytes::from)
}

fn frame() -> impl Strategy<Value = Frame> {
    let id = any::<[u8; 16]>().prop_map(Id);
    let capabilities =
        any::<[bool; 2]>().prop_map(|[datagrams, windows]| Capabilities { datagrams, windows });
    let below = || number().prop_map(|number| number / 2);
    prop_oneof![
        (number(), capabilities, 0..1u64 << 40).prop_map(|(version, capabilities, milliseconds)| {
            Frame::Hello { version, capabilities, expiry: Duration::from_millis(milliseconds) }
        }),
        ("[a-z0-9.:-]{1,255}", 1..=u16::MAX, number(), any::<bool>()).prop_map(
            |(host, port, epoch, is_datagrams)| {
                let of = if is_datagrams { Target::of_datagrams } else { Target::new };
                Frame::Open { target: of(&host, port).unwrap(), epoch }
            }
        ),
        (below(), octets(1)).prop_map(|(offset, bytes)| Frame::Data { offset, bytes }),
        (number(), number()).prop_map(|(offset, credit)| Frame::Ack { offset, credit }),
        below().prop_map(|offset| Frame::Fin { offset }),
        number().prop_map(|number| Frame::Reset(Reason::of(number % 20))),
        Just(Frame::Suspend),
        Just(Frame::Continue),
        (id.clone(), number(), number()).prop_map(|(session, epoch, received)| Frame::Resume {
            session,
            epoch,
            received
        }),
        id.prop_map(Frame::Migrated),
        (number(), number(), 0..1u64 << 40).prop_map(|(cwnd, rwnd, microseconds)| {
            Frame::Windows(Windows { cwnd, rwnd, rtt: Duration::from_micros(microseconds) })
        }),
        octets(0).prop_map(Frame::Datagram),
        Just(Frame::Expire),
        Just(Frame::Ping),
    ]
}

#[test]
fn a_target_is_a_host_and_a_port() {
    assert_eq!(Target::new("::1", 22).unwrap().to_string(), "[::1]:22");
    assert_eq!(Target::new("db.example", 5432).unwrap().to_string(), "db.example:5432");
    assert_eq!(Target::of_datagrams("::1", 53).unwrap().to_string(), "[::1]:53/udp");
    assert_ne!(Target::of_datagrams("a", 53), Target::new("a", 53));
    for (host, port) in [("", 1), ("a", 0), ("a b", 1), ("a\n", 1), ("é", 1), ("$(x)", 1)] {
        assert_eq!(Target::new(host, port), None, "{host:?}");
    }
    assert_eq!(Target::new(&"a".repeat(256), 1), None);
}

#[test]
fn reasons_have_their_numbers() {
    for number in 0..30 {
        assert_eq!(Reason::of(number).number(), number);
    }
    assert_eq!((Reason::of(1), Reason::of(10)), (Reason::NoSuchSession, Reason::TargetUnreachable));
    assert_eq!(Reason::of(11).to_string(), "reason 11");
}

#[test]
fn what_is_out_of_range_is_malformed() {
    let id = [0; 16];
    let mut resume_cut = vec![9, 1, 1];
    resume_cut.extend(&id[..15]);
    let cases: [&[u8]; 11] = [
        &[0],
        &[16],
        &[15],
        &[15, 1, 0, 1, b'a'],
        &[1, 1, 4, 0],
        &[2, 1, 0, 1, b'a'],
        &[3, 0, 0],
        &[3, 0, 2, b'a'],
        &resume_cut,
        &[5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 1, 0],
    ];
    for bytes in cases {
        assert_eq!(parse(Bytes::copy_from_slice(bytes)), Err(Malformed), "{bytes:?}");
    }
    assert_eq!(parse(Bytes::from_static(&[13, 0])), Err(Malformed), "a good one before a bad one");
}

proptest! {
    #[test]
    fn frames_come_back(frames in prop::collection::vec(frame(), 0..8)) {
        prop_assert_eq!(parse(emitted(&frames).into()), Ok(frames));
    }

    /// No frame has two forms.
    #[test]
    fn what_is_parsed_is_emitted_alike(frames in prop::collection::vec(frame(), 0..4), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = emitted(&frames);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Ok(frames) = parse(bytes.clone().into()) {
            prop_assert_eq!(emitted(&frames), bytes);
        }
    }

    #[test]
    fn data_has_the_overhead_that_is_said(offset in number(), len in 1usize..20_000) {
        let frame = Frame::Data { offset: offset / 2, bytes: vec![0; len].into() };
        prop_assert!(emitted(&[frame]).len() <= len + DATA_OVERHEAD);
    }
}
