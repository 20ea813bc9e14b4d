//! Names that are asked for: each question of DNS over UDP, as far as its socket shows it.
//!
//! A resolver opens a socket for a question, connects it to port 53 (RFC 1035 §4.2.1), and closes it with the answer or
//! when it gives up: RFC 5452 §9.2 wants another port for each question. So a socket's life is a question's.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use handfast_core::{Duration, Instant};

use crate::sample::ConnectionId;

/// The port of DNS.
pub const PORT: u16 = 53;
/// A socket that is there for longer is a server's own: glibc gives a question up after 5 s for each of at most three
/// servers, twice (resolv.conf(5)).
const LONGEST: Duration = Duration::from_secs(30);

/// A socket connected to [`PORT`], at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Which one it is.
    pub id: ConnectionId,
    /// This end.
    pub local: SocketAddr,
    /// The server that is asked.
    pub server: SocketAddr,
    /// Whether an answer is there, not read yet.
    pub has_answer: bool,
}

/// One that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) lookup: Lookup,
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// Those that are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// Since when each waits; [`None`]: it has its answer, or is no question.
    open: BTreeMap<ConnectionId, (Lookup, Option<Instant>)>,
    /// Whether there was a look: of what is there at the first one nobody knows since when.
    has_looked: bool,
}

impl Lookups {
    /// All that there are now: those that have got their answer, or are gone. At most `most` are followed.
    pub(crate) fn on_lookups(&mut self, at: Instant, now: &[Lookup], most: usize) -> Vec<Asked> {
        let mut before = std::mem::take(&mut self.open);
        let mut over = Vec::new();
        for &lookup in now.iter().take(most) {
            let new = self.has_looked.then_some(at);
            let mut since = before.remove(&lookup.id).map_or(new, |(_, since)| since);
            if let Some(from) = since {
                if lookup.has_answer {
                    over.push(Asked { lookup, from, to: at });
                }
                if lookup.has_answer || at.since(from) > LONGEST {
                    since = None;
                }
            }
            self.open.insert(lookup.id, (lookup, since));
        }
        let gone = before.into_values().filter_map(|(lookup, since)| since.map(|from| (lookup, from)));
        over.extend(gone.map(|(lookup, from)| Asked { lookup, from, to: at }));
        self.has_looked = true;
        over
    }

    /// The watch ends: those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Lookup, Instant)> + '_ {
        self.open.values().filter_map(|&(lookup, since)| since.map(|from| (lookup, from)))
    }
}
