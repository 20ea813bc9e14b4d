//! Orders to bytes of the experimenter.

use std::net::IpAddr;

use bytes::BufMut;
use handfast_wire::openflow::PortNo;

use super::numbers::{ACTIVATE, ADMIT, APPROVE, FORGET, FORGET_EDGE, RELEASE, ROUTE, STEER, port_no};
use super::{Activation, Admission, Location, Name, Order, Steering};

pub(super) fn put_order(out: &mut Vec<u8>, order: &Order) {
    match order {
        Order::Admit(Admission { name, client, server }) => {
            out.put_u32(ADMIT);
            put_name(out, name);
            for end in [client, server] {
                put_address(out, end.ip());
                out.put_u16(end.port());
            }
        }
        Order::Approve(name) => {
            out.put_u32(APPROVE);
            put_name(out, name);
        }
        Order::Route(Location { host, edge }) => {
            out.put_u32(ROUTE);
            put_address(out, *host);
            out.put_u8(u8::from(edge.is_some()));
            if let Some((edge, slice)) = edge {
                put_address(out, *edge);
                out.put_u16(*slice);
            }
        }
        Order::Forget(name) => {
            out.put_u32(FORGET);
            put_name(out, name);
        }
        Order::Activate(Activation { from, to, slice, caching, retransmission, round_trip }) => {
            out.put_u32(ACTIVATE);
            put_address(out, *from);
            put_address(out, *to);
            out.put_u16(*slice);
            out.put_u16(u16::from(*caching) | u16::from(*retransmission) << 1);
            out.put_u64(round_trip.as_nanos());
        }
        Order::Steer(Steering { from, to, port }) => {
            out.put_u32(STEER);
            put_address(out, *from);
            put_address(out, *to);
            out.put_u32(port.map_or(PortNo::NORMAL, port_no).0);
        }
        Order::Release(edge) => {
            out.put_u32(RELEASE);
            put_address(out, *edge);
        }
        Order::ForgetEdge(edge) => {
            out.put_u32(FORGET_EDGE);
            put_address(out, *edge);
        }
    }
}

pub(super) fn put_name(out: &mut Vec<u8>, name: &Name) {
    put_address(out, name.peer);
    out.put_u16(name.slice);
    out.put_u16(name.connection);
}

/// IPv4 addresses as IPv6 has them (RFC 4291 §2.5.5.2).
pub(super) fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    out.put_slice(&address.octets());
}
