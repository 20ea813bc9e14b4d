//! What access points say of their stations.

use handfast_wire::openflow::EthAddr;

use super::ApId;

/// An access point's word on one of its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The station's Ethernet address.
    pub station: EthAddr,
    /// The access point that speaks.
    pub ap: ApId,
    /// Which association of this station it is about: a number that rises with each. A late word about an earlier one
    /// changes nothing.
    pub epoch: u64,
    /// What happened.
    pub what: What,
}

/// What happened to an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It began (T2 of `[sdn]` Figure 5, where the controller learns of it).
    Associated,
    /// It ended (T1).
    Disassociated,
    /// So many packets were delivered to the station in it, as 802.11 acknowledged them: the access point says so just before it
    /// reports the end, where it can tell.
    Delivered(u64),
}
