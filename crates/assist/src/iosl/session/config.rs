//! The bounds and times of a session.

use handfast_core::Duration;

use super::blocks::BLOCK;
use crate::iosl::frame::{Capabilities, MOST_DATAGRAM};

/// What a session may keep, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Octets that a program has written and the peer has not acknowledged.
    pub send_buffer: u64,
    /// Octets that have come and the program has not read.
    pub receive_buffer: u64,
    /// Of each of the two, what a session has for itself, however much the others keep.
    pub floor: u64,
    /// Octets of datagrams that wait, in each direction.
    pub datagrams: usize,
    /// What this end takes.
    pub capabilities: Capabilities,
    /// After so long without a path, or suspended, the session is given up. The shorter one of both ends counts.
    pub expiry: Duration,
    /// The same before the peer has answered for the first time.
    pub opening: Duration,
    /// A session that is over is remembered for longer than the peer's expiry by this, in case that the peer does not know: it may
    /// have lost its path later.
    pub linger: Duration,
    /// An acknowledgment waits for others at most so long.
    pub acknowledge: Duration,
    /// A path whose dialler does not use it is given up after so long.
    pub confirm: Duration,
    /// A peer that has to acknowledge something and says nothing for so long is asked for a sign of life.
    pub ask: Duration,
    /// A path on which nothing comes for so long then is given up.
    pub answer: Duration,
    /// On an idle path the end that has opened the session asks after so long. RFC 5382 §5 has translators keep connections for
    /// 2 h 4 min, and many drop them after 5 min.
    pub idle: Duration,
    /// Between two attempts to dial: at first, and at most.
    pub redial: [Duration; 2],
    /// Whether this end dials when there is no path.
    pub dials: bool,
    /// Whether its sessions outlive it: what has come is acknowledged when the program has it, and not before.
    pub keeps: bool,
}

impl Default for Config {
    fn default() -> Self {
        let buffer = 4 << 20;
        Self {
            send_buffer: buffer,
            receive_buffer: buffer,
            floor: 4_096,
            datagrams: 64 << 10,
            // Whoever has a driver that uses them says so.
            capabilities: Capabilities { datagrams: true, windows: false },
            expiry: Duration::from_secs(600),
            opening: Duration::from_secs(30),
            linger: Duration::from_secs(60),
            acknowledge: Duration::from_millis(25),
            confirm: Duration::from_secs(10),
            ask: Duration::from_secs(2),
            answer: Duration::from_secs(5),
            idle: Duration::from_secs(240),
            redial: [Duration::from_millis(100), Duration::from_secs(5)],
            dials: true,
            keeps: false,
        }
    }
}

impl Config {
    /// The same for a session of datagrams. It has no room for octets, so that a peer that sends some breaks the rules.
    #[must_use]
    pub fn of_datagrams(self) -> Self {
        Self { send_buffer: 0, receive_buffer: 0, floor: 0, keeps: false, ..self }
    }

    /// What a session takes of memory at most, beside what is of one size: both buffers, in blocks of which the first and the last
    /// are in use partly, and the datagrams.
    pub fn most_memory(&self) -> u64 {
        let blocks = 4 * BLOCK as u64;
        let datagrams = 2 * (self.datagrams + MOST_DATAGRAM) as u64;
        self.send_buffer.max(self.floor) + self.receive_buffer.max(self.floor) + blocks + datagrams
    }
}
