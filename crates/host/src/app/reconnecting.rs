//! An application that opens a new connection after an error, and goes on with the bytes that were not acknowledged, or begins
//! again.
//!
//! Both ends know at which byte the new connection begins. A real protocol would say it in a few bytes of its own.

use std::fmt;

use handfast_core::{Bytes, Duration};
use handfast_tcp::Death;

use super::Description;

/// When an application notices that the address of its connection has gone. TCP does not tell it: its segments vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// When TCP gives the connection up.
    Never,
    /// So long after the address has gone: as one that watches its progress, or is told by its system at once.
    After(Duration),
    /// When its host has another address: as one whose system tells it of that.
    NewAddress,
}

/// How an application opens its next connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// From the death of a connection to the opening of the next. Of an application that has noticed that its address has gone: from
    /// an attempt without an address, which fails at once, to the next one; then twice as long, and so on.
    pub after: Duration,
    /// Between two attempts at most.
    pub most: Duration,
    /// When it notices that its address has gone.
    pub notice: Notice,
    /// It begins again with its first byte, and does not go on with what the peer has not got.
    pub again: bool,
}

impl Reconnect {
    /// Between two attempts at most, by default.
    pub const MOST: Duration = Duration::from_secs(60);

    /// So long after a connection has died of itself, with what was not acknowledged.
    pub const fn after(after: Duration) -> Self {
        Self { after, most: Self::MOST, notice: Notice::Never, again: false }
    }
}

/// The hash of a scenario is of this text: what is as it always was is left out.
impl fmt::Debug for Reconnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { after, .. } = *self;
        if *self == Self::after(after) {
            return after.fmt(f);
        }
        let Self { most, notice, again, .. } = *self;
        f.debug_tuple("Reconnect").field(&after).field(&most).field(&notice).field(&again).finish()
    }
}

pub(super) fn description(size: Option<Bytes>, how: Reconnect) -> Description {
    let problem = (how.after == Duration::ZERO).then(|| "reconnects without a pause".to_owned());
    let short = (how.most < how.after).then(|| "waits longer at first than at most".to_owned());
    Description { total: size, reconnects: Some(how), problem: problem.or(short), ..Description::default() }
}

/// Whether it tries again after such an end: after all that it has not brought about itself.
pub(super) fn tries_again(death: Death) -> bool {
    death != Death::Aborted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_falls_is_refused() {
        let how = Reconnect::after(Duration::from_secs(1));
        assert_eq!(description(None, how).problem, None);
        assert!(description(None, Reconnect { most: Duration::from_millis(999), ..how }).problem.is_some());
        assert!(description(None, Reconnect { after: Duration::ZERO, ..how }).problem.is_some());
    }
}
