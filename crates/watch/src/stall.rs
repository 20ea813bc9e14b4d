//! A time in which a connection stood still, and what it was.

use std::net::SocketAddr;

use handfast_core::{Duration, Instant};

use crate::sample::ConnectionId;

/// What a part of a stall was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The interface had no carrier: a roam, a radio out of reach, a cable.
    RadioGone,
    /// The connection's address was gone from this machine.
    AddressGone,
    /// The interface was there, and nothing came through it.
    PathGone,
    /// The network was there again, and the sender waited for its doubled timer (RFC 6298 §5.5).
    TimerBackoff,
    /// Segments were lost, and the sender waited for its timer once.
    Loss,
    /// The peer's window was closed: its program did not read.
    PeerWindow,
    /// The answer came late, and nothing was sent again: a long queue, or a slow peer.
    Late,
    /// A name server did not answer.
    Dns,
}

impl Cause {
    /// Each of them.
    pub const ALL: [Self; 8] = [
        Self::RadioGone,
        Self::AddressGone,
        Self::PathGone,
        Self::TimerBackoff,
        Self::Loss,
        Self::PeerWindow,
        Self::Late,
        Self::Dns,
    ];

    /// Its name in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RadioGone => "radio-gone",
            Self::AddressGone => "address-gone",
            Self::PathGone => "path-gone",
            Self::TimerBackoff => "timer-backoff",
            Self::Loss => "loss",
            Self::PeerWindow => "peer-window",
            Self::Late => "late",
            Self::Dns => "dns",
        }
    }

    /// The same for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::RadioGone => "no carrier",
            Self::AddressGone => "its address was gone",
            Self::PathGone => "nothing came through",
            Self::TimerBackoff => "waited for its timer",
            Self::Loss => "packets were lost",
            Self::PeerWindow => "the peer did not read",
            Self::Late => "the answer came late",
            Self::Dns => "no answer to a name",
        }
    }
}

/// A part of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What it was.
    pub cause: Cause,
    /// Its beginning.
    pub from: Instant,
    /// Its end.
    pub to: Instant,
}

impl Phase {
    /// How long it lasted.
    pub fn length(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// What stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was not there yet.
    Opening,
    /// What this machine sends.
    Sending,
    /// What this machine receives: seen from here, so it is an estimate.
    Receiving,
    /// There is no connection yet: a name is asked for.
    Resolving,
}

impl Direction {
    /// Its name in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Sending => "sending",
            Self::Receiving => "receiving",
            Self::Resolving => "resolving",
        }
    }
}

/// How a stall ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It went on. Of a question for a name: it was answered or given up.
    WentOn,
    /// The connection ended.
    Broke,
    /// The watch ended first.
    Lasts,
}

impl End {
    /// Its name in results.
    pub const fn word(self) -> &'static str {
        match self {
            Self::WentOn => "went-on",
            Self::Broke => "broke",
            Self::Lasts => "lasts",
        }
    }
}

/// What the path was like before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The least round-trip time.
    pub min_rtt: Option<Duration>,
    /// Payload bytes a second: what arrived at best.
    pub rate: Option<u64>,
    /// Of a thousand segments that this machine has sent, those that were sent again, this stall's included.
    pub repeated_permille: Option<u16>,
}

/// A time in which a connection stood still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Whose.
    pub connection: ConnectionId,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// What stood still.
    pub direction: Direction,
    /// What it was, one after the other, without gaps.
    pub phases: Vec<Phase>,
    /// How it ended.
    pub end: End,
    /// Segments sent again meanwhile.
    pub retransmitted: u32,
    /// The longest timeout meanwhile.
    pub longest_rto: Duration,
    /// What the path was like before.
    pub path: Path,
}

impl Stall {
    /// Its beginning.
    pub fn from(&self) -> Instant {
        self.phases.first().map_or(Instant::default(), |phase| phase.from)
    }

    /// Its end.
    pub fn to(&self) -> Instant {
        self.phases.last().map_or(Instant::default(), |phase| phase.to)
    }

    /// How long it lasted.
    pub fn length(&self) -> Duration {
        self.to().since(self.from())
    }

    /// How long a cause lasted in it.
    pub fn of(&self, cause: Cause) -> Duration {
        self.phases.iter().filter(|phase| phase.cause == cause).map(Phase::length).sum()
    }

    /// Its address went, and it did not go on: what goes on then is a session above the connection.
    pub fn lost_its_address(&self) -> bool {
        self.of(Cause::AddressGone) > Duration::ZERO && self.end != End::WentOn
    }

    /// What took most of it.
    pub fn main_cause(&self) -> Cause {
        let longest = Cause::ALL.into_iter().rev().max_by_key(|&cause| self.of(cause));
        longest.unwrap_or(Cause::Late)
    }
}
