//! Bytes of the experimenter to reports and orders.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf, Bytes};
use handfast_core::Duration;
use handfast_wire::openflow::PortNo;

use super::numbers::{
    ACTIVATE, ADMIT, APPROVE, CLOSED, EXPERIMENTER, FORGET, FORGET_EDGE, LEAVING, LOCATE, RELEASE, ROUTE,
    STARTED, STEER, port_of,
};
use super::{Activation, Admission, Location, Name, Order, Report, Steering, Unknown};

/// Reads what the experimenter says.
pub(super) struct Reader(Bytes);

impl Reader {
    pub(super) fn new(bytes: Bytes) -> Result<Self, Unknown> {
        let mut this = Self(bytes);
        if this.u32()? == EXPERIMENTER { Ok(this) } else { Err(Unknown) }
    }

    pub(super) fn report(&mut self) -> Result<Report, Unknown> {
        match self.u32()? {
            STARTED => Ok(Report::Started),
            LEAVING => Ok(Report::Leaving),
            CLOSED => self.name().map(Report::Closed),
            LOCATE => self.address().map(Report::Locate),
            _ => Err(Unknown),
        }
    }

    pub(super) fn order(&mut self) -> Result<Order, Unknown> {
        Ok(match self.u32()? {
            ADMIT => {
                let name = self.name()?;
                let (client, server) = (self.socket()?, self.socket()?);
                Order::Admit(Admission { name, client, server })
            }
            APPROVE => Order::Approve(self.name()?),
            FORGET => Order::Forget(self.name()?),
            FORGET_EDGE => Order::ForgetEdge(self.address()?),
            RELEASE => Order::Release(self.address()?),
            ROUTE => Order::Route(self.location()?),
            STEER => {
                let (from, to) = (self.address()?, self.address()?);
                let port = match PortNo(self.u32()?) {
                    PortNo::NORMAL => None,
                    number => Some(port_of(number).ok_or(Unknown)?),
                };
                Order::Steer(Steering { from, to, port })
            }
            ACTIVATE => {
                let (from, to) = (self.address()?, self.address()?);
                let (slice, functions) = (self.u16()?, self.u16()?);
                let round_trip = Duration::from_nanos(self.0.try_get_u64().map_err(|_| Unknown)?);
                let (caching, retransmission) = (functions & 1 != 0, functions & 2 != 0);
                Order::Activate(Activation { from, to, slice, caching, retransmission, round_trip })
            }
            _ => return Err(Unknown),
        })
    }

    fn location(&mut self) -> Result<Location, Unknown> {
        let host = self.address()?;
        let edge = match self.0.try_get_u8().map_err(|_| Unknown)? {
            0 => None,
            1 => Some((self.address()?, self.u16()?)),
            _ => return Err(Unknown),
        };
        Ok(Location { host, edge })
    }

    fn name(&mut self) -> Result<Name, Unknown> {
        Ok(Name { peer: self.address()?, slice: self.u16()?, connection: self.u16()? })
    }

    fn socket(&mut self) -> Result<SocketAddr, Unknown> {
        Ok(SocketAddr::new(self.address()?, self.u16()?))
    }

    fn address(&mut self) -> Result<IpAddr, Unknown> {
        let address = Ipv6Addr::from_bits(self.0.try_get_u128().map_err(|_| Unknown)?);
        Ok(address.to_ipv4_mapped().map_or(address.into(), |address: Ipv4Addr| address.into()))
    }

    fn u32(&mut self) -> Result<u32, Unknown> {
        self.0.try_get_u32().map_err(|_| Unknown)
    }

    fn u16(&mut self) -> Result<u16, Unknown> {
        self.0.try_get_u16().map_err(|_| Unknown)
    }
}
