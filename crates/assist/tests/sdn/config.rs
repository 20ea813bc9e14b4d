//! One switch and two access points, as `crates/sim/tests/sdn` has them too.

use handfast_assist::sdn::{AccessPoint, Config, Fabric, Policy, Release};
use handfast_core::{BitRate, Bytes};
use handfast_wire::openflow::{EthAddr, PortNo};

pub(crate) const DATAPATH: u64 = 0x5151;
pub(crate) const STATION: EthAddr = [2, 0, 10, 0, 0, 5];
/// Port of the wired side, and of each access point.
pub(crate) const WIRED: PortNo = PortNo(1);
pub(crate) const AP: [PortNo; 2] = [PortNo(2), PortNo(3)];

pub(crate) fn fabric() -> Fabric {
    let access_points = AP
        .map(|port| AccessPoint { datapath_id: DATAPATH, port, rate: None, vlan: None, uplink: None })
        .to_vec();
    Fabric { access_points, ..Fabric::default() }
}

pub(crate) fn paced() -> Release {
    Release::Paced { rate: BitRate::from_bps(20_000_000), burst: Bytes(0) }
}

pub(crate) fn config(policy: Policy, release: Release) -> Config {
    Config::new(policy, release, fabric())
}
