//! The traffic tool: the flows of a scenario over the kernel's TCP, measured as the simulator measures its own.
//!
//! Two threads, whatever the number of flows: one sends and looks at `TCP_INFO`, one receives, checks every byte and
//! feeds the meters. A socket stays in the namespace in which it was opened.

pub(crate) mod counters;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod wire_sender;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use handfast_core::{Duration, Instant};
use handfast_io::Watch;
use handfast_scenario::FlowId;
use socket2::{Domain, Protocol, Socket, Type};

use crate::{Clock, Netns};

/// A thread sleeps no longer than this, and then looks whether the run was stopped.
const NAP: Duration = Duration::from_millis(20);
/// Bytes written or read at a time.
const CHUNK: usize = 1 << 16;

/// What the threads of a run tell each other.
#[derive(Debug)]
pub(crate) struct Board {
    stop: AtomicBool,
    flows: Vec<Notes>,
}

#[derive(Debug, Default)]
struct Notes {
    delivered: AtomicU64,
    /// The connection was opened, and there is something to get across.
    active: AtomicBool,
}

impl Board {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            stop: AtomicBool::new(false),
            flows: std::iter::repeat_with(Notes::default).take(flows).collect(),
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn set_active(&self, flow: FlowId, active: bool) {
        self.flows[flow].active.store(active, Ordering::Relaxed);
    }

    fn is_active(&self, flow: FlowId) -> bool {
        self.flows[flow].active.load(Ordering::Relaxed)
    }

    fn set_delivered(&self, flow: FlowId, bytes: u64) {
        self.flows[flow].delivered.store(bytes, Ordering::Relaxed);
    }

    fn delivered(&self, flow: FlowId) -> u64 {
        self.flows[flow].delivered.load(Ordering::Relaxed)
    }
}

/// Where a flow's receiver is, and what the socket of one end is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) address: SocketAddr,
    /// The largest segment, where it is not the usual one.
    pub(crate) mss: Option<u16>,
    pub(crate) congestion_control: &'static str,
    pub(crate) nodelay: bool,
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
