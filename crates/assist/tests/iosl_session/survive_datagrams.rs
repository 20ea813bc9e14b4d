//! What holds for any datagrams beside a path, shared by the property tests and the fuzz target.

use std::collections::BTreeSet;

use handfast_assist::iosl::secure::{Channel, Entropy, Keys, Pattern};

/// The two ends of a path, after their handshake.
pub(crate) fn pair(seed: u8) -> [Channel; 2] {
    let (own, peer) = (Keys::new([1; 32]), Keys::new([2; 32]));
    let mut initiator = Channel::initiator(&own, Some(&peer.public()), Entropy::new([seed; 32])).unwrap();
    let mut responder = Channel::responder(&peer, Pattern::Ik, Entropy::new([seed + 1; 32])).unwrap();
    responder.read(&initiator.write(b"").unwrap()).unwrap();
    initiator.read(&responder.write(b"").unwrap()).unwrap();
    [initiator, responder]
}

/// Each octet of `input` is a step: datagrams are sealed, and come in any order, twice, cut, changed, with the keys of another path, or
/// made up of what follows. Each comes once at most, as it was sent; and records, which are in order, come all the same.
pub(crate) fn survive_datagrams(input: &[u8]) {
    let ([mut from, mut to], [mut other, _]) = (pair(10), pair(20));
    let (mut sealed, mut came) = (Vec::new(), BTreeSet::new());
    for (at, &step) in input.iter().enumerate() {
        let chosen = usize::from(step / 8);
        let arrives = match (step % 8, sealed.get(chosen % sealed.len().max(1)).cloned()) {
            (0..=2, _) | (_, None) => {
                let number = sealed.len() as u64;
                sealed.push(from.write_datagram(&number.to_be_bytes()).unwrap());
                continue;
            }
            (3 | 4, Some(one)) => one,
            (5, Some(mut one)) => {
                let place = chosen * 7 % one.len();
                one[place] ^= 1 << (at % 8);
                one
            }
            (6, Some(mut one)) => {
                one.truncate(chosen % one.len());
                one
            }
            (_, Some(_)) if at % 2 == 0 => other.write_datagram(b"by another path").unwrap(),
            (_, Some(_)) => input[at..].to_vec(),
        };
        let number = sealed.iter().position(|one| *one == arrives);
        if let Some(datagram) = to.read_datagram(&arrives) {
            let number = number.expect("somebody else has made it");
            assert_eq!(datagram, (number as u64).to_be_bytes());
            assert!(came.insert(number), "it came before");
        } else {
            let is_late = |number: usize| came.contains(&number) || number + 900 < sealed.len();
            assert!(number.is_none_or(is_late), "one of {} is missing", sealed.len());
        }
        let record = from.write(b"a record").unwrap();
        assert_eq!(to.read(&record).unwrap(), b"a record");
    }
}
