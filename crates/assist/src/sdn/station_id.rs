//! Which station: an address alone does not say it, since one address may be in use in several VLANs.

use handfast_wire::openflow::EthAddr;

/// `0x8100`: the type of a VLAN tag (IEEE 802.1Q §9.4).
const TAGGED: [u8; 2] = 0x8100_u16.to_be_bytes();
/// The bits of a tag that are the VLAN's (IEEE 802.1Q §9.6).
const VID: u16 = 0xfff;

/// A station: its address, in the VLAN of its access point. Whoever clones an address in one VLAN is another station than whoever
/// has it in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StationId {
    /// Its Ethernet address.
    pub address: EthAddr,
    /// What [`super::AccessPoint::vlan`] says where it is.
    pub vlan: Option<u16>,
}

impl StationId {
    /// Every station that has this address, in order.
    pub(crate) fn with_address(address: EthAddr) -> std::ops::RangeInclusive<Self> {
        Self { address, vlan: None }..=Self { address, vlan: Some(u16::MAX) }
    }
}

impl From<EthAddr> for StationId {
    /// Where no VLANs are told apart.
    fn from(address: EthAddr) -> Self {
        Self { address, vlan: None }
    }
}

/// Who sent a frame and whom it is for; [`None`]: it is too short to say.
pub(crate) fn ends(frame: &[u8]) -> Option<(EthAddr, EthAddr)> {
    let [destination, source] = [frame.get(..6)?, frame.get(6..12)?].map(<EthAddr>::try_from);
    Some((source.ok()?, destination.ok()?))
}

/// The VLAN of a frame's tag. A tag of VLAN 0 only bears a priority (IEEE 802.1Q §9.6).
pub(crate) fn tag(frame: &[u8]) -> Option<u16> {
    let tag = frame.get(12..14).filter(|tpid| **tpid == TAGGED).and_then(|_| frame.get(14..16))?;
    let id = u16::from_be_bytes(tag.try_into().ok()?) & VID;
    (id != 0).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_and_a_priority_is_none() {
        let frame = |end: &[u8]| [&[1; 6], &[2; 6], end].concat();
        for (end, id) in [
            (&[0x81, 0, 0x60, 10, 8, 0][..], Some(10)),
            (&[0x81, 0, 0x6f, 0xfe, 8, 0], Some(0xffe)),
            (&[0x81, 0, 0x60, 0, 8, 0], None),
            (&[0x81, 0, 0x60], None),
            (&[8, 0, 0x45, 0], None),
            (&[], None),
        ] {
            assert_eq!(tag(&frame(end)), id, "{end:?}");
        }
        assert_eq!(ends(&frame(&[])), Some(([2; 6], [1; 6])));
        assert_eq!(ends(&[1; 11]), None);
    }

    #[test]
    fn all_vlans_of_an_address_and_no_other_are_in_its_range() {
        let of = |last, vlan| StationId { address: [2, 0, 0, 0, 0, last], vlan };
        let range = StationId::with_address([2, 0, 0, 0, 0, 2]);
        assert!([None, Some(1), Some(4094)].iter().all(|&vlan| range.contains(&of(2, vlan))));
        assert!([of(1, Some(4094)), of(3, None)].iter().all(|other| !range.contains(other)));
        assert_eq!(StationId::from([2, 0, 0, 0, 0, 1]), of(1, None));
    }
}
