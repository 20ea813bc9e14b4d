//! What must hold of any recorded movement: shared by the fuzz target and the test over its corpus.

use handfast_core::{Duration, Instant, Stream};
use handfast_radio::Place;
use handfast_radio::mobility::{Mobility, Motion, Recording};

/// Reads a text and, where it is a recording, follows its stations for a day: no panic, and nobody leaves the bounds.
pub(crate) fn survive_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(recording) = Recording::parse(text) else { return };
    for number in recording.stations().take(10) {
        let Some(trace) = recording.trace(number) else { panic!("station {number} has no trace") };
        let mobility = Mobility::Trace(trace.clone().into());
        let mut motion = Motion::new(&mobility, Place::default(), Stream::new(1, "trace"));
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            let Place { x, y } = motion.place(now);
            assert!(x.abs() <= Place::FURTHEST && y.abs() <= Place::FURTHEST, "({x}, {y})");
            now += Duration::from_secs(864);
        }
    }
}
