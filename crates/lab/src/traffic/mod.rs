//! The traffic tool: the flows of a scenario over the kernel's TCP and UDP, measured as the simulator measures its own.
//!
//! Two threads, whatever the number of flows: one sends and looks at `TCP_INFO`, one receives, checks every byte and
//! feeds the meters. A socket stays in the namespace in which it was opened. What an application sends when, and what is
//! measured of it, is in `handfast-host`. One transport a file: `tcp_*`, `datagrams`; `dialogue_*` are the
//! ends of flows of which one end asks and the other answers.

pub(crate) mod board;
pub(crate) mod counters;
pub(crate) mod datagrams;
pub(crate) mod dialogue_client;
pub(crate) mod dialogue_server;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod tcp_receiver;
pub(crate) mod tcp_sender;
mod wire_datagrams;
pub(crate) mod wire_sender;

use std::io;
use std::net::SocketAddr;

use handfast_core::{Duration, Instant};
use handfast_io::Watch;
use socket2::{Domain, Protocol, Socket, Type};

pub(crate) use board::Board;

use crate::{Clock, Netns};

/// A thread sleeps no longer than this, and then looks whether the run was stopped.
const NAP: Duration = Duration::from_millis(20);
/// Bytes written or read at a time.
const CHUNK: usize = 1 << 16;

/// Where a flow's receiver is, and what the socket of one end is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) address: SocketAddr,
    /// The largest segment, where it is not the usual one.
    pub(crate) mss: Option<u16>,
    pub(crate) congestion_control: &'static str,
    pub(crate) nodelay: bool,
    pub(crate) user_timeout: Option<Duration>,
}

impl Goal {
    /// A socket in a host's namespace, as its scheme has it.
    fn socket(&self, host: &Netns) -> io::Result<Socket> {
        let socket = {
            let _there = host.enter()?;
            Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), Some(Protocol::TCP))?
        };
        socket.set_tcp_congestion(self.congestion_control.as_bytes())?;
        socket.set_tcp_nodelay(self.nodelay)?;
        if let Some(limit) = self.user_timeout {
            socket.set_tcp_user_timeout(Some(std::time::Duration::from_nanos(limit.as_nanos())))?;
        }
        if let Some(mss) = self.mss {
            socket.set_tcp_mss(u32::from(mss))?;
        }
        Ok(socket)
    }
}

/// Sleeps until a socket is ready or `until` has come, and not for long; which sockets are ready.
fn wait(clock: Clock, until: Instant, sockets: &mut [Watch<'_>]) -> Vec<bool> {
    match handfast_io::wait(None, sockets, until.since(clock.now()).min(NAP)) {
        Ok(()) => sockets.iter().map(Watch::is_ready).collect(),
        // No memory: looking at all of them is never wrong.
        Err(_) => vec![true; sockets.len()],
    }
}
