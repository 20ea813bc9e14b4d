//! The cross-layer notification of [vho]: a mobile tells a sender which access link it has now, and which it had.

use bytes::{Buf, BufMut, Bytes};
use handfast_core::{BitRate, Duration};

/// The IP protocol number that it travels under: one for experiments (RFC 3692 §2.1).
pub const PROTOCOL: u8 = 253;

const VERSION: u8 = 1;
/// Version, kind, whether there is an old link, a zero; flows; which it is.
const START_LEN: usize = 4 + 2 + 4;
/// Rate in bit/s and delay in nanoseconds.
const LINK_LEN: usize = 8 + 8;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A connection begins.
    Start,
    /// A handoff; the old link carried what was under way ([vho] §4.2, make-before-break).
    MakeBeforeBreak,
    /// A handoff; there was no link in between ([vho] §4.2, break-before-make).
    BreakBeforeMake,
    /// The same link is back after a disconnection ([vho] §4.3).
    Resumed,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Start, Self::MakeBeforeBreak, Self::BreakBeforeMake, Self::Resumed];
}

/// An access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLink {
    /// Its bandwidth.
    pub rate: BitRate,
    /// Its propagation delay, one way.
    pub delay: Duration,
}

/// What a mobile tells a sender ([vho] §3: "the bandwidth and delay of the access link and the number of flows").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// What has happened.
    pub kind: Kind,
    /// The mobile's count of its notifications: a repetition has the number of the first one.
    pub number: u32,
    /// Flows from that sender to the mobile.
    pub flows: u16,
    /// The access link that it has now.
    pub new: AccessLink,
    /// The one that it had before, if there was one.
    pub old: Option<AccessLink>,
}

impl Notification {
    /// Reads the payload of an IP packet of protocol [`PROTOCOL`]; [`None`]: it is anything else. Keeps the contract of
    /// [`crate::Packet::parse`].
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let (&[VERSION, kind, has_old @ 0..=1, 0], mut rest) = payload.split_first_chunk::<4>()? else {
            return None;
        };
        let links = 1 + usize::from(has_old);
        if payload.len() != START_LEN + links * LINK_LEN {
            return None;
        }
        let kind = *Kind::ALL.get(usize::from(kind))?;
        let (flows, number) = (rest.get_u16(), rest.get_u32());
        let mut link = || AccessLink {
            rate: BitRate::from_bps(rest.get_u64()),
            delay: Duration::from_nanos(rest.get_u64()),
        };
        Some(Self { kind, number, flows, new: link(), old: (has_old == 1).then(link) })
    }

    /// The payload of the IP packet.
    pub fn emit(&self) -> Bytes {
        let mut payload = Vec::with_capacity(START_LEN + 2 * LINK_LEN);
        payload.put_slice(&[VERSION, self.kind as u8, u8::from(self.old.is_some()), 0]);
        payload.put_u16(self.flows);
        payload.put_u32(self.number);
        for link in [Some(self.new), self.old].into_iter().flatten() {
            payload.put_u64(link.rate.as_bps());
            payload.put_u64(link.delay.as_nanos());
        }
        payload.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link() -> impl Strategy<Value = AccessLink> {
        (any::<u64>(), any::<u64>()).prop_map(|(bps, nanos)| AccessLink {
            rate: BitRate::from_bps(bps),
            delay: Duration::from_nanos(nanos),
        })
    }

    fn notification() -> impl Strategy<Value = Notification> {
        let kind = prop::sample::select(&Kind::ALL[..]);
        (kind, any::<u32>(), any::<u16>(), link(), prop::option::of(link()))
            .prop_map(|(kind, number, flows, new, old)| Notification { kind, number, flows, new, old })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn what_is_emitted_parses_back(notification in notification(), cut in any::<prop::sample::Index>()) {
            let payload = notification.emit();
            prop_assert_eq!(Notification::parse(&payload), Some(notification));
            prop_assert_eq!(Notification::parse(&payload[..cut.index(payload.len())]), None);
        }
    }

    #[test]
    fn what_it_does_not_know_is_none() {
        let access = AccessLink { rate: BitRate::from_bps(1), delay: Duration::from_nanos(1) };
        let known = Notification { kind: Kind::Resumed, number: 1, flows: 1, new: access, old: None }.emit();
        // A later version, kind or flag, and what stands in the reserved octet, mean something that is not known here.
        for at in 0..4 {
            let mut other = known.to_vec();
            other[at] += 1;
            assert_eq!(Notification::parse(&other), None, "octet {at}");
        }
        let longer = [&known[..], &[0]].concat();
        assert_eq!(Notification::parse(&longer), None);
    }
}
