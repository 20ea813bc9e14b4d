//! What must hold of any text as a trace: shared by the fuzz target and the test over its corpus.

use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::trace::{AtEnd, Columns, Recording, TimeUnit, Trace};
use handfast_net::{Direction, Exit, Link};

/// Reads a text as a trace and as a recording. Where it is a trace, a link follows it: no panic, nothing leaves before it came,
/// and what says the trace in figures is finite.
pub(crate) fn survive_input(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for end in [AtEnd::Repeat, AtEnd::Hold] {
        if let Ok(trace) = Trace::parse(text, end) {
            survive_trace(trace, end);
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

fn survive_trace(trace: Trace, end: AtEnd) {
    let summary = trace.summary();
    assert!(summary.mean_rate.is_some() == trace.has_rate() && summary.loss.is_none_or(f64::is_finite));
    if let Trace::Steps(steps) = &trace {
        // One line alone holds for ever; as a text it needs an end.
        let again = Trace::parse(&steps.to_csv(), end).ok();
        assert!(again.as_ref() == Some(&trace) || steps.steps().len() == 1, "{again:?}\n{trace:?}");
    }
    let direction = Direction::plain(BitRate::from_bps(1_000_000), Duration::from_millis(1));
    let mut link = Link::following(&direction, Arc::new(trace), Stream::new(1, "link"));
    let (mut offered, mut left) = (Vec::new(), None);
    for number in 0..20_u32 {
        let now = Instant::from_millis(u64::from(number) * 77);
        while let Some(at) = link.deadline().filter(|&at| at <= now) {
            while let Some(exit) = link.poll(at) {
                let (Exit::Delivered { handle, .. } | Exit::Lost { handle, .. }) = exit else {
                    panic!("{exit:?}")
                };
                assert!(left < Some(handle) && offered.get(handle as usize).is_some_and(|&came| came <= at));
                left = Some(handle);
            }
            assert!(link.deadline().is_none_or(|next| next > at), "a deadline that does not move");
        }
        link.enqueue(now, number, Bytes(u64::from(number) * 100), true).expect("a queue without a limit");
        offered.push(now);
        assert!(link.deadline().is_none_or(|at| at >= now));
    }
}
