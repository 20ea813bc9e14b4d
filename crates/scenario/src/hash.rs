//! The hash of a scenario's content.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use handfast_net::trace::Trace;
use sha2::{Digest, Sha256};

use crate::model::{LinkId, LinkTrace, Scenario};

/// SHA-256 of everything that a run depends on, the first 16 hexadecimal digits.
///
/// The serialisation is the model's `Debug` form: it holds every field there is, needs no memory, and its numbers are
/// written the same on every platform.
pub(crate) fn hash(scenario: &Scenario) -> String {
    // Every field by name: a new one is either hashed or left out on purpose.
    let Scenario {
        name: _,
        description: _,
        hash: _,
        trace_files: _,
        duration,
        nodes,
        links,
        flows,
        events,
        schemes,
        profiles,
        captures,
        sample_interval,
        radio,
        on_air,
        subnets,
        networks,
        traces,
    } = scenario;
    // All profiles have the receiver that a scheme has which names none: profile `linux`, which is one of them.
    let profiles: Vec<_> = profiles.iter().map(|scheme| (&scheme.name, &scheme.sender)).collect();
    let content = (duration, nodes, links, flows, events, schemes, profiles, captures, sample_interval);
    let mut sink = Sink { hash: Sha256::new(), text: String::with_capacity(2 * Sink::PIECE) };
    // The sink takes everything.
    let _ = write!(sink, "{content:?}");
    if let Some(radio) = radio {
        let _ = write!(sink, "{radio:?}");
    }
    if !on_air.is_empty() {
        let _ = write!(sink, "{on_air:?}");
    }
    if !networks.is_empty() {
        let _ = write!(sink, "{networks:?}");
    }
    if !traces.is_empty() {
        let _ = write!(sink, "{:?}", Once(traces));
    }
    if *subnets {
        let _ = write!(sink, "subnets");
    }
    let digest = sink.finish();
    digest.into_iter().take(8).fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"))
}

/// What directions follow, each trace written where it is followed first: thousands of links may follow one of megabytes.
struct Once<'a>(&'a BTreeMap<(LinkId, usize), LinkTrace>);

impl fmt::Debug for Once<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        let mut written: Vec<(&Arc<Trace>, &(LinkId, usize))> = Vec::new();
        for (key, trace) in self.0 {
            let LinkTrace::Recorded(recorded) = trace else {
                map.entry(key, trace);
                continue;
            };
            // By content where it was read twice: what a scenario is does not depend on how many files say it.
            let same = |one: &Arc<Trace>| Arc::ptr_eq(one, recorded) || one == recorded;
            if let Some((_, first)) = written.iter().find(|(one, _)| same(one)) {
                map.entry(key, &format_args!("as {first:?}"));
            } else {
                map.entry(key, trace);
                written.push((recorded, key));
            }
        }
        map.finish()
    }
}

/// Fields that had another name when hashes were first taken: a new name is no new content.
const RENAMED: [(&str, &str); 3] =
    [("congestion_control", "growth"), ("directions", "way"), ("end_notice", "news")];

/// Hashes text that comes in many small parts.
struct Sink {
    hash: Sha256,
    /// What is not hashed yet: a hash of a large piece costs less than those of its parts.
    text: String,
}

impl Sink {
    /// Bytes that are hashed at once, at least.
    const PIECE: usize = 4096;

    fn flush(&mut self) {
        self.hash.update(&self.text);
        self.text.clear();
    }

    fn finish(mut self) -> impl IntoIterator<Item = u8> {
        self.flush();
        self.hash.finalize()
    }
}

impl Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A derived `Debug` writes the name of a field on its own.
        let text = RENAMED.iter().find(|(now, _)| *now == text).map_or(text, |(_, then)| then);
        self.text.push_str(text);
        if self.text.len() >= Self::PIECE {
            self.flush();
        }
        Ok(())
    }
}
