//! Connections of a cgroup's programs, led to an end: `bpf/sockets`.

use std::fs::File;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use crate::programs::{Programs, object, take};

/// Bytes of `struct place` of `bpf/sockets/sockets.bpf.c`.
const PLACE: usize = 20;

/// The programs at a cgroup. They stay there as long as anybody has the descriptors of their links.
pub struct Sockets {
    links: Vec<OwnedFd>,
    /// Where targets are by the addresses that connections come from.
    sources: OwnedFd,
}

impl Sockets {
    /// Leads TCP connections that programs of a cgroup open from now on to `four`, and those over IPv6 to `six`, which are in the network
    /// namespace `network` (`SO_NETNS_COOKIE`). `is_strict`: what cannot be led there is refused (`EPERM`); otherwise it goes on.
    ///
    /// # Errors
    /// What the kernel lacks, or does not allow.
    pub fn attach(
        cgroup: &File,
        four: SocketAddr,
        six: Option<SocketAddr>,
        is_strict: bool,
        network: u64,
    ) -> Result<Self, String> {
        let mut programs = Programs::load(object!("sockets"))?;
        let six = six.map_or([0; PLACE], place);
        let is_strict = [u32::from(is_strict).to_ne_bytes(), [0; 4]].concat();
        let end = [&place(four)[..], &six, &is_strict, &network.to_ne_bytes()].concat();
        programs.update("end", &0_u32.to_ne_bytes(), &end)?;
        // Who leads comes last: before it nobody is led.
        for name in ["on_established", "on_getpeername4", "on_getpeername6", "on_connect4", "on_connect6"] {
            programs.attach_cgroup(name, cgroup)?;
        }
        Ok(Self { links: programs.links()?, sources: programs.descriptor("sources")? })
    }

    /// Those that another process has attached, whose [`Sockets::descriptors`] this one was given.
    pub fn attached(sources: OwnedFd, links: Vec<OwnedFd>) -> Self {
        Self { links, sources }
    }

    /// What keeps them where they are, and lets another process go on with them: where targets are, and their links.
    pub fn descriptors(&self) -> (&OwnedFd, &[OwnedFd]) {
        (&self.sources, &self.links)
    }

    /// Where the program wanted to go whose connection comes from this address. [`None`]: it is of no program there, or was asked for before.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_target(&self, from: SocketAddr) -> Result<Option<SocketAddr>, String> {
        let found: Option<[u8; PLACE]> = take(self.sources.as_fd(), &place(from))?;
        Ok(found.as_ref().map(address))
    }
}

fn place(address: SocketAddr) -> [u8; PLACE] {
    let octets = match address.ip() {
        IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
        IpAddr::V6(six) => six.octets(),
    };
    let mut place = [0; PLACE];
    place[..16].copy_from_slice(&octets);
    place[16..18].copy_from_slice(&address.port().to_be_bytes());
    place
}

fn address(place: &[u8; PLACE]) -> SocketAddr {
    let (octets, rest) = place.split_at(16);
    let octets: [u8; 16] = std::array::from_fn(|n| octets[n]);
    (Ipv6Addr::from(octets).to_canonical(), u16::from_be_bytes([rest[0], rest[1]])).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_as_on_the_wire() {
        for text in ["192.0.2.7:443", "[2001:db8::1]:80"] {
            let of: SocketAddr = text.parse().unwrap();
            assert_eq!(address(&place(of)), of);
        }
        let four = place("192.0.2.7:443".parse().unwrap());
        assert_eq!(four[8..], [0, 0, 0xff, 0xff, 192, 0, 2, 7, 1, 187, 0, 0]);
    }
}
