//! What goes on a wire: parsed headers, `parse` and `emit`, no state.
//!
//! [`Packet::parse`] states the contract that all parsers here keep.
#![forbid(unsafe_code)]

mod advertisement;
mod body;
mod canonical;
mod checksum;
mod error;
mod ethernet;
mod frame;
mod glance;
mod ip;
mod ipv4;
mod ipv6;
pub mod notification;
mod offload;
pub mod openflow;
mod packet;
mod payload;
pub mod pcapng;
mod quick_start;
pub mod sctp;
pub mod sdtp;
mod seen;
pub mod shim;
mod socks;
mod solicitation;
pub mod tcp;
mod udp;

pub use advertisement::Advertisement;
pub use checksum::Checksums;
pub use error::{EmitError, Header, ParseError, ThroughWireError};
pub use frame::LinkType;
pub use glance::Glance;
pub use ip::{Ecn, IpFacts};
pub use notification::Notification;
pub use offload::{complete_checksum, cut};
pub use packet::{Body, Ethernet, Packet, Vlan};
pub use payload::Payload;
pub use quick_start::{QuickStart, QuickStartNonce, QuickStartRate, QuickStartResponse};
pub use seen::Seen;
pub use socks::{SocksDatagram, SocksHost};
pub use solicitation::{Announcement, Solicitation};
pub use udp::Datagram;
