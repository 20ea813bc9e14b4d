//! Ports.

use super::EthAddr;

/// A port's number (§7.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNo(pub u32);

impl PortNo {
    /// Highest number of a real port.
    pub const MAX: Self = Self(0xffff_ff00);
    /// Back where it came in; needed to send a packet out of the port at which it arrived.
    pub const IN_PORT: Self = Self(0xffff_fff8);
    /// As a switch without `OpenFlow` would.
    pub const NORMAL: Self = Self(0xffff_fffa);
    /// To all ports but the one at which it arrived, by the rules of the spanning tree.
    pub const FLOOD: Self = Self(0xffff_fffb);
    /// To all ports but the one at which it arrived.
    pub const ALL: Self = Self(0xffff_fffc);
    /// To the controller.
    pub const CONTROLLER: Self = Self(0xffff_fffd);
    /// The switch's own network stack.
    pub const LOCAL: Self = Self(0xffff_fffe);
    /// In filters: any; in messages: none.
    pub const ANY: Self = Self(0xffff_ffff);
}

/// A port as it is (§7.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number.
    pub port_no: PortNo,
    /// Its Ethernet address.
    pub hw_addr: EthAddr,
    /// Its name: 16 bytes, ends at the first zero.
    pub name: [u8; 16],
    /// `OFPPC_*`: what it was told.
    pub config: u32,
    /// `OFPPS_*`: what it is.
    pub state: u32,
    /// Current features.
    pub curr: u32,
    /// Features it advertises.
    pub advertised: u32,
    /// Features it supports.
    pub supported: u32,
    /// Features its peer advertises.
    pub peer: u32,
    /// Current rate, kbit/s.
    pub curr_speed: u32,
    /// Highest rate, kbit/s.
    pub max_speed: u32,
}

/// What happened to a port (§7.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortReason {
    /// It came.
    Add,
    /// It went.
    Delete,
    /// It changed.
    Modify,
}

/// News of a port (§7.4.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port now.
    pub port: Port,
}
