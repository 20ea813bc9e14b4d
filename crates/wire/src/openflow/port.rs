//! Ports.

use bytes::{Buf, BufMut};

use super::codec::{Reader, value};
use super::{EthAddr, ParseError, Part};

/// A port's number (§7.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNo(pub u32);

impl PortNo {
    /// Highest number of a real port.
    pub const MAX: Self = Self(0xffff_ff00);
    /// Back where it came in; needed to send a packet out of the port at which it arrived.
    pub const IN_PORT: Self = Self(0xffff_fff8);
    /// Through the switch's tables; in packet-outs only.
    pub const TABLE: Self = Self(0xffff_fff9);
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

impl Port {
    /// `OFPPC_PORT_DOWN`, of `config`: it was told to be down.
    pub const PORT_DOWN: u32 = 1;
    /// `OFPPS_LINK_DOWN`, of `state`: there is no link.
    pub const LINK_DOWN: u32 = 1;

    /// Whether it carries packets.
    pub const fn is_up(&self) -> bool {
        self.config & Self::PORT_DOWN == 0 && self.state & Self::LINK_DOWN == 0
    }

    /// A port that is up, without a name, features or rates.
    pub const fn plain(port_no: PortNo, hw_addr: EthAddr) -> Self {
        Self {
            port_no,
            hw_addr,
            name: [0; 16],
            config: 0,
            state: 0,
            curr: 0,
            advertised: 0,
            supported: 0,
            peer: 0,
            curr_speed: 0,
            max_speed: 0,
        }
    }

    /// Bytes on the wire.
    pub(super) const LEN: usize = 64;

    pub(super) fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(Self::LEN, Part::Port)?;
        let port_no = PortNo(fixed.get_u32());
        fixed.advance(4);
        let (mut hw_addr, mut name) = ([0; 6], [0; 16]);
        fixed.copy_to_slice(&mut hw_addr);
        fixed.advance(2);
        fixed.copy_to_slice(&mut name);
        Ok(Self {
            port_no,
            hw_addr,
            name,
            config: fixed.get_u32(),
            state: fixed.get_u32(),
            curr: fixed.get_u32(),
            advertised: fixed.get_u32(),
            supported: fixed.get_u32(),
            peer: fixed.get_u32(),
            curr_speed: fixed.get_u32(),
            max_speed: fixed.get_u32(),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.port_no.0);
        out.put_bytes(0, 4);
        out.put_slice(&self.hw_addr);
        out.put_bytes(0, 2);
        out.put_slice(&self.name);
        let features = [self.curr, self.advertised, self.supported, self.peer];
        for field in [self.config, self.state].into_iter().chain(features) {
            out.put_u32(field);
        }
        out.put_u32(self.curr_speed);
        out.put_u32(self.max_speed);
    }
}

impl PortReason {
    /// In the order of `OFPPR_*`.
    const ALL: [Self; 3] = [Self::Add, Self::Delete, Self::Modify];
}

impl PortStatus {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let reason = at.take(8, Part::PortStatus)?.get_u8();
        let reason = value(&PortReason::ALL, reason.into(), Part::PortStatus)?;
        let port = Port::parse(&mut at)?;
        at.end(Part::PortStatus)?;
        Ok(Self { reason, port })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u8(self.reason as u8);
        out.put_bytes(0, 7);
        self.port.emit(out);
    }
}
