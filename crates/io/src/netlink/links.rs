//! Which interfaces have a carrier and which addresses there are, now and as they change: rtnetlink(7).

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;

use super::{Brought, ask, read};

/// `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR` and `RTNLGRP_IPV6_IFADDR` of `linux/rtnetlink.h`.
const GROUPS: [u32; 3] = [1, 5, 9];

/// `RTNLGRP_IPV4_ROUTE` and `RTNLGRP_IPV6_ROUTE`.
const ROUTE_GROUPS: [u32; 2] = [7, 11];

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// An interface, its name, and whether it is up and has a carrier.
    Link(u32, String, bool),
    /// An interface and an address that it has.
    Gained(u32, IpAddr),
    /// An interface and an address that it has no longer.
    Lost(u32, IpAddr),
}

/// Becomes readable when something changes.
#[derive(Debug)]
pub struct LinkChanges {
    changes: Socket,
    addresses: BTreeSet<(u32, IpAddr)>,
}

impl LinkChanges {
    /// Of the calling thread's network namespace, and what there is already.
    ///
    /// # Errors
    /// What socket(2) or the kernel says.
    pub fn new() -> io::Result<(Self, Vec<LinkChange>)> {
        Self::of(&GROUPS)
    }

    /// The same, which becomes readable when a route changes too. What has changed of routes is not said: what holds afterwards the
    /// kernel says ([`crate::source_towards`]).
    ///
    /// # Errors
    /// As of [`LinkChanges::new`].
    pub fn with_routes() -> io::Result<Self> {
        Self::of(&[&GROUPS[..], &ROUTE_GROUPS].concat()).map(|(changes, _)| changes)
    }

    fn of(groups: &[u32]) -> io::Result<(Self, Vec<LinkChange>)> {
        let mut changes = Socket::new(NETLINK_ROUTE)?;
        changes.bind_auto()?;
        for &group in groups {
            changes.add_membership(group)?;
        }
        changes.set_non_blocking(true)?;
        let mut new = Self { changes, addresses: BTreeSet::new() };
        let there = new.all()?;
        Ok((new, there))
    }

    /// What has changed since the last time.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take(&mut self) -> io::Result<Vec<LinkChange>> {
        let mut taken = Vec::new();
        loop {
            match read::<RouteNetlinkMessage>(&self.changes) {
                Ok(Brought::Some(messages) | Brought::Last(messages)) => {
                    taken.extend(messages.into_iter().filter_map(|(_, message)| change_of(message)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Too much has changed for the socket to hold: what there is now says the rest.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    taken = self.all()?;
                }
                Err(error) => return Err(error),
            }
        }
        self.note(&taken);
        Ok(taken)
    }

    /// All that there is, and the addresses that are gone.
    fn all(&mut self) -> io::Result<Vec<LinkChange>> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        let requests = [
            RouteNetlinkMessage::GetLink(LinkMessage::default()),
            RouteNetlinkMessage::GetAddress(AddressMessage::default()),
        ];
        let mut found = Vec::new();
        for (number, request) in (1..).zip(requests) {
            ask(&socket, number, request)?;
            loop {
                let (messages, is_last) = match read::<RouteNetlinkMessage>(&socket)? {
                    Brought::Some(messages) => (messages, false),
                    Brought::Last(messages) => (messages, true),
                };
                found.extend(messages.into_iter().filter_map(|(_, message)| change_of(message)));
                if is_last {
                    break;
                }
            }
        }
        let lost = self
            .addresses
            .iter()
            .filter(|&&(interface, address)| !found.contains(&LinkChange::Gained(interface, address)));
        found.extend(
            lost.map(|&(interface, address)| LinkChange::Lost(interface, address)).collect::<Vec<_>>(),
        );
        self.note(&found);
        Ok(found)
    }

    fn note(&mut self, changes: &[LinkChange]) {
        for change in changes {
            match *change {
                LinkChange::Gained(interface, address) => drop(self.addresses.insert((interface, address))),
                LinkChange::Lost(interface, address) => drop(self.addresses.remove(&(interface, address))),
                LinkChange::Link(..) => {}
            }
        }
    }
}

impl AsFd for LinkChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.changes.as_fd()
    }
}

fn change_of(message: RouteNetlinkMessage) -> Option<LinkChange> {
    match message {
        RouteNetlinkMessage::NewLink(link) => {
            // `IFF_LOWER_UP`: the driver has a carrier. A Wi-Fi without an association has none.
            let is_up = link.header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp);
            Some(LinkChange::Link(link.header.index, name_of(link.attributes), is_up))
        }
        RouteNetlinkMessage::DelLink(link) => {
            Some(LinkChange::Link(link.header.index, name_of(link.attributes), false))
        }
        RouteNetlinkMessage::NewAddress(address) => {
            let index = address.header.index;
            address_of(&address).map(|address| LinkChange::Gained(index, address))
        }
        RouteNetlinkMessage::DelAddress(address) => {
            let index = address.header.index;
            address_of(&address).map(|address| LinkChange::Lost(index, address))
        }
        _ => None,
    }
}

fn name_of(attributes: Vec<LinkAttribute>) -> String {
    let name = attributes.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name),
        _ => None,
    });
    name.unwrap_or_default()
}

/// `IFA_LOCAL`, or `IFA_ADDRESS` where there is none: with a peer the latter is the peer's (rtnetlink(7)).
fn address_of(message: &AddressMessage) -> Option<IpAddr> {
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    local.or_else(|| {
        message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_there() {
        let (mut changes, there) = LinkChanges::new().unwrap();
        let lo = there.iter().any(|change| matches!(change, LinkChange::Link(_, name, _) if name == "lo"));
        assert!(lo, "{there:?}");
        assert!(changes.take().is_ok(), "it does not wait");
        assert!(LinkChanges::with_routes().unwrap().take().unwrap().is_empty(), "nothing changes");
    }
}
