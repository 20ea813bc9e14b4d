//! Why a session is no more, or does not come about.

use std::fmt;

/// A reason, which programs and logs see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The peer knows no such session: it has begun anew, or has given it up.
    NoSuchSession,
    /// A newer path of the session is known, or this one has been used.
    StaleEpoch,
    /// The peer has no room for another session.
    Busy,
    /// The peer does not lead to this target.
    TargetRefused,
    /// The two ends have no version in common.
    Version,
    /// An end has broken the rules of this protocol.
    Protocol,
    /// There was no path for too long.
    Expired,
    /// A program has aborted its connection.
    Aborted,
    /// The peer does not know this end's key, or not as this session's.
    Forbidden,
    /// What the peer leads to could not be reached.
    TargetUnreachable,
    /// One that this version does not know.
    Other(u64),
}

/// Those with a number: its place in the list, from 1.
const NUMBERED: [Reason; 10] = [
    Reason::NoSuchSession,
    Reason::StaleEpoch,
    Reason::Busy,
    Reason::TargetRefused,
    Reason::Version,
    Reason::Protocol,
    Reason::Expired,
    Reason::Aborted,
    Reason::Forbidden,
    Reason::TargetUnreachable,
];

impl Reason {
    /// On the wire.
    pub fn number(self) -> u64 {
        match self {
            Self::Other(number) => number,
            known => NUMBERED.iter().position(|&reason| reason == known).map_or(0, |at| at as u64 + 1),
        }
    }

    /// Of a number on the wire.
    pub fn of(number: u64) -> Self {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| NUMBERED.get(at)).copied().unwrap_or(Self::Other(number))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NoSuchSession => "the peer knows no such session: it has begun anew, or has given it up",
            Self::StaleEpoch => "a newer path of the session is known",
            Self::Busy => "the peer has no room for another session",
            Self::TargetRefused => "the peer does not lead to this target",
            Self::Version => "the two ends have no version in common",
            Self::Protocol => "an end has broken the rules of the protocol",
            Self::Expired => "there was no path for too long",
            Self::Aborted => "a program has aborted its connection",
            Self::Forbidden => "the peer does not accept this end's key",
            Self::TargetUnreachable => "the target could not be reached",
            Self::Other(number) => return write!(f, "reason {number}"),
        };
        f.write_str(text)
    }
}
