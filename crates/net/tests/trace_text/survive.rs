//! What must hold of any text as a trace: shared by the fuzz target and the test over its corpus.

use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::trace::{AtEnd, Columns, Recording, TimeUnit, Trace};
use handfast_net::{Direction, Link};

/// Reads a text as a trace and as a recording. Where it is a trace, a link follows it: no panic, nothing leaves before it came,
/// and what says the trace in figures is finite.
pub(crate) fn survive_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for end in [AtEnd::Repeat, AtEnd::Hold] {
        if let Ok(trace) = Trace::parse(text, end) {
            survive_trace(trace);
        }
    }
    let header = text.lines().next().unwrap_or_default();
    let mut names = header.split(',').map(|name| name.trim().to_owned());
    let time = (names.next().unwrap_or_default(), TimeUnit::Seconds(1e-3));
    let columns = Columns { time, rate: names.next().map(|name| (name, 1e6)), delay: None, loss: None };
    if let Ok(recording) = Recording::read(text, &columns) {
        let _ = recording.trace(recording.longest());
    }
}

fn survive_trace(trace: Trace) {
    let summary = trace.summary();
    assert!(summary.mean_rate.is_some() == trace.has_rate() && summary.loss.is_none_or(f64::is_finite));
    if let Trace::Steps(steps) = &trace {
        assert!(Trace::parse(&steps.to_csv(), AtEnd::Repeat).is_ok() || steps.steps().len() == 1);
    }
    let direction = Direction::plain(BitRate::from_bps(1_000_000), Duration::from_millis(1));
    let mut link = Link::following(&direction, Arc::new(trace), Stream::new(1, "link"));
    for number in 0..20_u32 {
        let now = Instant::from_millis(u64::from(number) * 77);
        let _ = link.enqueue(now, number, Bytes(u64::from(number) * 100), true);
        assert!(link.deadline().is_none_or(|at| at >= now || number > 0));
        while link.poll(now).is_some() {}
    }
}
