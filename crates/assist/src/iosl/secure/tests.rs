use proptest::prelude::*;

use super::*;

fn keys(number: u8) -> Keys {
    Keys::new([number; 32])
}

fn entropy(number: u8) -> Entropy {
    Entropy::new([number; 32])
}

/// Ends 1 and 2.
fn pair(pattern: Pattern) -> [Channel; 2] {
    let peer = keys(2).public();
    let known = (pattern == Pattern::Ik).then_some(&peer);
    [
        Channel::initiator(&keys(1), known, entropy(3)).unwrap(),
        Channel::responder(&keys(2), pattern, entropy(4)).unwrap(),
    ]
}

/// Messages in turn until both are open.
fn shake([initiator, responder]: &mut [Channel; 2]) -> usize {
    let mut messages = 0;
    while !(initiator.is_open() && responder.is_open()) {
        let (from, to) = if initiator.may_write() {
            (&mut *initiator, &mut *responder)
        } else {
            (&mut *responder, &mut *initiator)
        };
        let message = from.write(b"hello").unwrap();
        assert_eq!(to.read(&message).unwrap(), b"hello");
        messages += 1;
    }
    messages
}

#[test]
fn ends_know_each_other_after_two_messages_or_three() {
    for (pattern, messages) in [(Pattern::Ik, 2), (Pattern::Xx, 3)] {
        let mut ends = pair(pattern);
        assert_eq!(shake(&mut ends), messages);
        assert_eq!(ends[0].remote(), Some(keys(2).public()));
        assert_eq!(ends[1].remote(), Some(keys(1).public()));
        let record = ends[1].write(b"secret").unwrap();
        assert!(!record.windows(6).any(|part| part == b"secret"));
        assert_eq!(ends[0].read(&record).unwrap(), b"secret");
    }
}

/// RFC 7748 §6.1.
#[test]
fn the_public_key_is_that_of_x25519() {
    let bytes = |hex: &str| -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
    };
    let secret = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
    let public = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
    assert_eq!(Keys::new(bytes(secret)).public(), PublicKey(bytes(public)));
}

#[test]
fn who_does_not_have_the_key_reads_nothing() {
    let wrong = keys(9).public();
    let mut initiator = Channel::initiator(&keys(1), Some(&wrong), entropy(3)).unwrap();
    let mut responder = Channel::responder(&keys(2), Pattern::Ik, entropy(4)).unwrap();
    let message = initiator.write(b"hello").unwrap();
    assert_eq!(responder.read(&message), Err(Broken));
    assert_eq!((responder.read(&message), responder.write(b"")), (Err(Broken), Err(Broken)), "for good");
}

#[test]
fn a_handshake_of_another_pattern_fails() {
    let [mut initiator, _] = pair(Pattern::Xx);
    let mut responder = Channel::responder(&keys(2), Pattern::Ik, entropy(4)).unwrap();
    assert_eq!(responder.read(&initiator.write(b"").unwrap()), Err(Broken));
}

#[test]
fn records_that_are_repeated_swapped_or_left_out_break_the_path() {
    for order in [[0, 0], [1, 0], [0, 2]] {
        let mut ends = pair(Pattern::Ik);
        shake(&mut ends);
        let records = [b"a", b"b", b"c"].map(|part| ends[0].write(part).unwrap());
        let results = order.map(|at| ends[1].read(&records[at]));
        assert!(results.contains(&Err(Broken)), "{order:?}");
    }
}

#[test]
fn randomness_is_what_was_given() {
    let first = |seed| Channel::initiator(&keys(1), None, entropy(seed)).unwrap().write(b"").unwrap();
    assert_eq!(first(3), first(3));
    assert_ne!(first(3), first(4));
    let mut entropy = entropy(5);
    assert_ne!(entropy.fork().bytes(), entropy.bytes());
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut ends = pair(Pattern::Ik);
    shake(&mut ends);
    let longest = ends[0].write(&vec![7; MOST_PLAIN]).unwrap();
    assert_eq!((longest.len(), ends[1].read(&longest)), (MOST_RECORD, Ok(vec![7; MOST_PLAIN])));
    assert_eq!(ends[0].write(&vec![7; MOST_PLAIN + 1]), Err(Broken));
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?} {:?} {:?}", keys(171), entropy(171), pair(Pattern::Ik));
    assert!(!shown.contains("171") && !shown.contains("abab"), "{shown}");
}

#[test]
fn the_first_are_pinned_and_no_more() {
    let mut allowed = Allowed { keys: [keys(1).public()].into(), pins: 1 };
    assert_eq!(
        [1, 2, 3, 2, 1].map(|number| allowed.admit(&keys(number).public())),
        [true, true, false, true, true]
    );
}

#[test]
fn only_the_two_preambles_are_known() {
    for pattern in [Pattern::Ik, Pattern::Xx] {
        assert_eq!(Pattern::of(&pattern.preamble()), Some(pattern));
    }
    assert_eq!(Pattern::of(b"hfiosl\x02\x01"), None, "another version");
}

#[test]
fn a_record_without_end_is_refused_before_it_is_kept() {
    for len in [0, MOST_RECORD as u16 + 1, u16::MAX] {
        let mut reader = Reader::default();
        assert_eq!(reader.next(&mut &len.to_be_bytes()[..], MOST_RECORD).err(), Some(TooLong));
        assert!(reader.memory() <= 8);
    }
}

proptest! {
    #[test]
    fn a_changed_message_is_refused(message in 0usize..3, at in any::<prop::sample::Index>(), bit in 0u8..8, is_ik in any::<bool>()) {
        let mut ends = pair(if is_ik { Pattern::Ik } else { Pattern::Xx });
        for number in 0..=message {
            let (from, to) = (number % 2, 1 - number % 2);
            let Ok(mut bytes) = ends[from].write(b"hello") else { break };
            if number == message {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
                // XX's first message is in the clear: what was changed there shows in the second.
                let shows = ends[to].read(&bytes).is_err() || {
                    let answer = ends[to].write(b"").unwrap();
                    ends[from].read(&answer).is_err()
                };
                prop_assert!(shows);
            } else {
                ends[to].read(&bytes).unwrap();
            }
        }
    }

    #[test]
    fn records_come_back_however_they_are_cut(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..400), 0..8), cuts in prop::collection::vec(1usize..50, 1..20)) {
        let prefixed = |record: &Vec<u8>| [&(record.len() as u16).to_be_bytes(), &record[..]].concat();
        let stream: Vec<u8> = records.iter().flat_map(prefixed).collect();
        let (mut reader, mut found, mut at) = (Reader::default(), Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            let to = (at + cut).min(stream.len());
            let mut part = &stream[at..to];
            while let Some(record) = reader.next(&mut part, MOST_RECORD).unwrap() {
                found.push(record.to_vec());
            }
            at = to;
            prop_assert!(reader.memory() <= MOST_RECORD + 2);
            if at == stream.len() {
                break;
            }
        }
        prop_assert_eq!(found, records);
        prop_assert_eq!(reader.memory(), 0, "nothing between records");
    }
}
