//! What a path's octets go by: a connection of the kernel's, or one of our own in UDP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown};

use handfast_assist::iosl::inside::InsideId;
use handfast_core::Duration;
use handfast_io::net::TcpStream;
use handfast_io::{Liveliness, mptcp_subflows};

use super::Below;
use super::inside::Inside;

/// A path that is silently dead is noticed after 10 s; one whose link is back sends again within a second.
pub(super) const LIVELINESS: Liveliness = Liveliness {
    ask_after: Duration::from_secs(3),
    give_up_after: Duration::from_secs(10),
    most_rto: Duration::from_secs(1),
    most_unsent: 128 << 10,
};

/// The same of a path of datagrams: those that wait are old when they come.
const SHORT: Liveliness = Liveliness { most_unsent: 16 << 10, ..LIVELINESS };

/// A stream of octets that never blocks.
#[derive(Debug)]
pub(super) enum Wire {
    Kernel(TcpStream),
    Inside(InsideId),
}

impl Wire {
    /// As read(2).
    pub(super) fn read(&mut self, udp: &mut Inside, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(stream) => stream.read(into),
            Self::Inside(id) => udp.read(*id, into),
        }
    }

    /// As write(2).
    pub(super) fn write(&mut self, udp: &mut Inside, octets: &[u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(stream) => stream.write(octets),
            Self::Inside(id) => udp.write(*id, octets),
        }
    }

    /// Whether a connection that was dialled is there.
    ///
    /// # Errors
    /// Why it does not come about.
    pub(super) fn is_there(&self, udp: &Inside) -> io::Result<bool> {
        match self {
            Self::Kernel(stream) => match stream.take_error()? {
                Some(error) => Err(error),
                // connect(2): it has no peer's address before.
                None => Ok(stream.peer_addr().is_ok()),
            },
            Self::Inside(id) => udp.is_there(*id),
        }
    }

    /// It carries datagrams: little is to wait in it.
    pub(super) fn keep_short(&self, udp: &mut Inside) {
        match self {
            // What the kernel does not do makes datagrams older, and nothing else.
            Self::Kernel(stream) => drop(SHORT.set(stream)),
            Self::Inside(id) => udp.keep_short(*id),
        }
    }

    /// Nothing more is written.
    pub(super) fn finish(&self, udp: &mut Inside) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Inside(id) => {
                udp.finish(*id);
                Ok(())
            }
        }
    }

    /// By which address of this machine it goes.
    pub(super) fn local(&self, udp: &Inside) -> Option<IpAddr> {
        match self {
            Self::Kernel(stream) => stream.local_addr().ok().map(|address| address.ip()),
            Self::Inside(id) => udp.local(*id),
        }
    }

    /// What it has become: who asks for Multipath TCP has TCP where the other end has none (RFC 8684 §3.7).
    pub(super) fn below(&self) -> Below {
        match self {
            Self::Kernel(stream) if mptcp_subflows(stream).is_some() => Below::Mptcp,
            Self::Kernel(_) => Below::Tcp,
            Self::Inside(id) => Below::of(id.kind()),
        }
    }
}

/// Whether an error of a read or a write says that it has to wait.
pub(super) fn has_to_wait(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || handfast_io::is_under_way(error)
}
