//! What the tests of protections share: packets with a number, and a path between two ends.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Ecn, Packet, Payload};
use proptest::prelude::*;

use super::{Made, Outgoing, Protection};

/// The bytes of a packet with that number, and a length of its own.
pub(crate) fn packet(number: u32) -> Bytes {
    let [src, dst] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
    let payload = Payload::Synthetic { stream: 3, offset: u64::from(number), len: 20 + number % 7 };
    let segment = Segment { seq: SeqNum(number), flags: Flags::ACK, payload, ..Segment::EMPTY };
    Packet::tcp(src, dst, segment).ip_bytes().unwrap()
}

/// Its number, once every byte was compared.
fn number(delivered: &Packet) -> u32 {
    let Body::Tcp(segment) = &delivered.body else { panic!("{delivered:?}") };
    assert_eq!(delivered.ip_bytes().unwrap(), packet(segment.seq.0));
    segment.seq.0
}

/// The numbers of what the far end delivers when these come.
pub(crate) fn deliver(far: &mut impl Protection, now: Instant, sent: &[Outgoing]) -> Vec<u32> {
    let mut made = Made::default();
    for sent in sent {
        assert!(far.receive(now, &sent.shim, Ecn::NotCapable, &mut made));
    }
    made.delivered.iter().map(number).collect()
}

/// Which of so many packets of a path are lost: a tenth to a half of them.
pub(crate) fn loss(packets: usize) -> impl Strategy<Value = Vec<bool>> {
    (2_u32..10)
        .prop_flat_map(move |of| prop::collection::vec(prop::bool::weighted(1.0 / f64::from(of)), packets))
}

/// What has become of the packets of a [`relay`].
pub(crate) struct Relayed {
    /// In the order in which they were delivered.
    pub(crate) delivered: Vec<u32>,
    /// Those of which any packet with them inside arrived.
    pub(crate) arrived: BTreeSet<u32>,
    /// What has gone from the near end to the far end.
    pub(crate) packets: u64,
}

/// Sends packets 0 to `count` from the near end to the far end, one each `interval`, on a path of 5 ms that loses the packets from
/// near to far that `lost` says, and beyond its end none, and from far to near none.
pub(crate) fn relay<P: Protection>(
    near: &mut P,
    far: &mut P,
    count: u32,
    interval: Duration,
    lost: &[bool],
) -> Relayed {
    let mut relayed = Relayed { delivered: Vec::new(), arrived: BTreeSet::new(), packets: 0 };
    let delay = Duration::from_millis(5);
    // By time and number: to the far end, or to the near end.
    let mut path: BTreeMap<(Instant, u64), (bool, Outgoing)> = BTreeMap::new();
    let (mut crossed, mut number_of, mut next) = (0_u64, 0_u64, 0);
    loop {
        let sends = (next < count).then(|| Instant::ZERO + interval * u64::from(next));
        let arrival = path.keys().next().map(|&(at, _)| at);
        let Some(now) = [sends, arrival, near.deadline(), far.deadline()].into_iter().flatten().min() else {
            return relayed;
        };
        let (mut at_near, mut at_far) = (Made::default(), Made::default());
        if sends == Some(now) {
            near.send(now, packet(next), 0, &mut at_near);
            next += 1;
        }
        while let Some(entry) = path.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to_far, Outgoing { shim, .. }) = entry.remove();
            let (end, made) = if to_far { (&mut *far, &mut at_far) } else { (&mut *near, &mut at_near) };
            assert!(end.receive(now, &shim, Ecn::NotCapable, made));
        }
        for (end, made) in [(&mut *near, &mut at_near), (&mut *far, &mut at_far)] {
            if end.deadline().is_some_and(|due| due <= now) {
                end.on_timer(now, made);
            }
            assert!(end.deadline().is_none_or(|due| due > now), "a deadline is in the future");
        }
        relayed.delivered.extend(at_far.delivered.iter().map(number));
        for (to_far, outgoing) in [(true, at_near.out), (false, at_far.out)] {
            for outgoing in outgoing {
                number_of += 1;
                if to_far {
                    relayed.packets += 1;
                    crossed += 1;
                    if lost.get(crossed as usize - 1).copied().unwrap_or(false) {
                        continue;
                    }
                    relayed.arrived.extend(inside(&outgoing));
                }
                path.insert((now + delay, number_of), (to_far, outgoing));
            }
        }
    }
}

/// The number of the packet inside.
fn inside(outgoing: &Outgoing) -> Option<u32> {
    use handfast_wire::shim::Message;
    match &outgoing.shim.message {
        Message::Copy(packet) | Message::Source(packet) | Message::Frame { packet, .. } => {
            Some(number(&Packet::of_ip_bytes(packet)?))
        }
        _ => None,
    }
}
