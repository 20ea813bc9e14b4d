//! Which queueing disciplines the link of the tool may have.

/// The queueing discipline of the link. Virtual time makes the link infinitely fast, so no queue is ever longer than a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// It takes all: no discipline, or `pfifo` with a limit.
    #[default]
    Taking,
    /// It drops all: `pfifo limit 0`.
    Dropping,
    /// `fq`, which paces each connection.
    Pacing,
}
