//! Lines for a terminal of 80 columns.

use std::fmt::Write;

use handfast_core::Duration;
use handfast_watch::{Direction, End};

use super::replay::Replay;
use super::report::{Report, Told};

/// The line that is written over.
pub(super) fn state(report: &Report, waiting: usize) -> String {
    format!(
        "watching {} for {}: {}, {} now",
        plural(report.watched, "connection"),
        seconds(report.passed),
        plural(report.stalls, "stall"),
        waiting
    )
}

/// One stall, in two or three lines.
pub(super) fn stall(told: &Told) -> String {
    let stall = &told.stall;
    let direction = match stall.direction {
        Direction::Opening => "opening to",
        Direction::Sending => "sending to",
        Direction::Receiving => "receiving from",
        Direction::Resolving => "asking for a name at",
    };
    let mut text =
        format!("{:>9}  {direction} {}: {}", seconds_at(stall.from()), told.peer, seconds(stall.length()));
    let phases: Vec<_> = stall
        .phases
        .iter()
        .map(|phase| format!("{} {}", phase.cause.text(), seconds(phase.length())))
        .collect();
    let _ = write!(text, "\n           {}", phases.join(", then "));
    match stall.end {
        End::WentOn => {}
        End::Broke => text.push_str("; the connection ended"),
        End::Lasts => text.push_str("; it lasts"),
    }
    if let Some(best) = told.replay.as_ref().and_then(advice) {
        let _ = write!(text, "\n           {best}");
    }
    if stall.lost_its_address() {
        text.push_str("\n           a session goes on at another address: handfastd session");
    }
    text
}

/// The remedy that saves most.
fn advice(replay: &Replay) -> Option<String> {
    let (remedy, saved) = replay.saved().max_by(|one, other| one.1.total_cmp(&other.1))?;
    // Less than a look apart is nothing.
    (saved > 0.05)
        .then(|| format!("{}: saves {saved:.2} of {:.2} s, simulated", remedy.text, replay.measured))
}

/// What was seen in all, in a line.
pub(super) fn title(report: &Report) -> String {
    format!(
        "{} in {} of {}: {} in all",
        plural(report.stalls, "stall"),
        seconds(report.passed),
        plural(report.watched, "connection"),
        seconds(report.time),
    )
}

/// The same, with tables.
pub(super) fn sum(report: &Report) -> String {
    let mut text = format!("\n{}", title(report));
    if report.broken > 0 {
        let _ = write!(text, "; {} ended with one", plural(report.broken, "connection"));
    }
    if report.stalls == 0 {
        return text;
    }
    let _ = write!(text, "\n\n{:<28}{:>8}{:>12}", "what it was", "stalls", "time");
    for (cause, share) in &report.causes {
        let _ = write!(text, "\n{:<28}{:>8}{:>12}", cause.text(), share.stalls, seconds(share.time));
    }
    let ranked = report.ranked();
    if !ranked.is_empty() {
        let _ =
            write!(text, "\n\n{:<28}{:>8}{:>12}{:>12}", "what would have helped", "stalls", "saves", "of");
        for (remedy, saving) in ranked {
            let _ = write!(
                text,
                "\n{:<28}{:>8}{:>12}{:>12}",
                remedy.text,
                saving.stalls,
                format!("{:.2} s", saving.saved_s),
                format!("{:.2} s", saving.of_s)
            );
        }
        text.push_str("\n\nOf what was waited after a gap or a loss; simulated with its round trip, rate.");
    }
    if let Some(moved) = moved(report) {
        let _ = write!(text, "\n\n{moved}\n(handfastd session --help).");
    }
    text
}

/// What no timer and no window helps: the connection has lost its address.
pub(super) fn moved(report: &Report) -> Option<String> {
    let lost = plural(report.moved, "stall");
    (report.moved > 0).then(|| format!("{lost} ended as the address went: a session goes on at another one"))
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// As exact as it is known.
pub(super) fn seconds(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0)
    }
}

fn seconds_at(moment: handfast_core::Instant) -> String {
    format!("{:.1} s", moment.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use handfast_watch::{Cause, Stall};

    use super::super::names::Names;
    use super::super::replay::testing;
    use super::*;

    /// A report of one such stall, and what it says of it.
    fn told(end: End) -> (Report, String) {
        let mut report = Report::new(Names::new(false), false);
        let made = testing::stall(Direction::Sending, Cause::AddressGone, 3_000);
        let text = stall(report.add(&Stall { end, ..made }));
        (report, text)
    }

    #[test]
    fn a_connection_that_has_lost_its_address_needs_a_session() {
        for end in [End::Broke, End::Lasts] {
            let (report, text) = told(end);
            assert!(text.ends_with("a session goes on at another address: handfastd session"), "{text}");
            assert!(sum(&report).contains("1 stall ended as the address went"), "{}", sum(&report));
            assert_eq!(report.json()["watch"]["lost_their_address"], 1);
        }
        let (report, text) = told(End::WentOn);
        assert!(!text.contains("session") && !sum(&report).contains("session"), "its address is back");
    }
}
