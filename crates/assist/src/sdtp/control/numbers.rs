//! Numbers that stand in messages of the experimenter.

use handfast_net::Port;
use handfast_wire::openflow::PortNo;

/// Not registered: the highest byte says that the ONF has assigned it (§7.5.4), the rest is ours. Two parties that both chose it
/// would have to agree.
pub(super) const EXPERIMENTER: u32 = 0xff5d_7450;

pub(super) const CLOSED: u32 = 1;
pub(super) const ADMIT: u32 = 2;
pub(super) const APPROVE: u32 = 3;
pub(super) const ACTIVATE: u32 = 4;
pub(super) const STARTED: u32 = 5;
pub(super) const FORGET: u32 = 6;
pub(super) const LOCATE: u32 = 7;
pub(super) const ROUTE: u32 = 8;
pub(super) const FORGET_EDGE: u32 = 9;
pub(super) const STEER: u32 = 10;
pub(super) const LEAVING: u32 = 11;
pub(super) const RELEASE: u32 = 12;

/// `OpenFlow` numbers ports from 1, up to `OFPP_MAX` (§7.2.1).
pub(super) fn port_no(port: Port) -> PortNo {
    PortNo(port.0.saturating_add(1))
}

pub(super) fn port_of(number: PortNo) -> Option<Port> {
    (1..=PortNo::MAX.0).contains(&number.0).then(|| Port(number.0 - 1))
}
