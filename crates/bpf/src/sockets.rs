//! Connections of a cgroup's programs, led to an end: `bpf/sockets`.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use crate::datagrams::Datagrams;
use crate::place::{PLACE, address, place};
use crate::programs::{Programs, object, take};

/// What attaches them, in this order: who leads comes last, and before it nobody is led.
const NAMES: [&str; 11] = [
    "on_established",
    "on_getpeername4",
    "on_getpeername6",
    "on_egress",
    "on_release",
    "on_recvmsg4",
    "on_recvmsg6",
    "on_sendmsg4",
    "on_sendmsg6",
    "on_connect4",
    "on_connect6",
];

/// Where programs are led.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Connections over IPv4.
    pub four: SocketAddr,
    /// Those over IPv6; [`None`]: this machine has none.
    pub six: Option<SocketAddr>,
    /// Datagrams: those of IPv4 first, [`Datagrams::EACH`] of each family; [`None`]: nobody is there. Without any UDP goes straight.
    pub aliases: Vec<Option<SocketAddr>>,
}

/// The programs at a cgroup. They stay there as long as anybody has the descriptors of their links.
pub struct Sockets {
    links: Vec<OwnedFd>,
    /// Where targets are by the addresses that connections come from.
    sources: OwnedFd,
}

impl Sockets {
    /// Leads there what programs of a cgroup connect to, and send by UDP, from now on and in the network namespace `network`
    /// (`SO_NETNS_COOKIE`). `is_strict`: what cannot be led there is refused (`EPERM`); otherwise it goes on.
    ///
    /// # Errors
    /// What the kernel lacks, or does not allow.
    pub fn attach(
        cgroup: &File,
        ends: &Ends,
        is_strict: bool,
        network: u64,
    ) -> Result<(Self, Datagrams), String> {
        let mut programs = Programs::load(object!("sockets"))?;
        let six = ends.six.map_or([0; PLACE], place);
        let leads_datagrams = ends.aliases.iter().any(Option::is_some);
        let flags = [is_strict, leads_datagrams].map(|flag| u32::from(flag).to_ne_bytes()).concat();
        let end = [&place(ends.four)[..], &six, &flags, &network.to_ne_bytes()].concat();
        programs.update("end", &0_u32.to_ne_bytes(), &end)?;
        let datagrams = Datagrams::of(&programs, &ends.aliases)?;
        for name in NAMES {
            programs.attach_cgroup(name, cgroup)?;
        }
        let sources = programs.descriptor("sources")?;
        Ok((Self { links: programs.links()?, sources }, datagrams))
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
