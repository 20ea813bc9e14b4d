//! One HTML page, which needs nothing else.

use std::fmt::Write;

use handfast_core::Duration;
use handfast_watch::End;

use super::report::{Report, Told};
use super::text::{moved, seconds, title};

const STYLE: &str = include_str!("page.css");
/// Peers that get a row of their own: those that stood still longest.
const ROWS: usize = 12;
/// Stalls in the table, the longest first.
const LISTED: usize = 200;
/// Of the picture, in its own units.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 26.0;

pub(super) fn page(report: &Report) -> String {
    let title = title(report);
    let (picture, causes, remedies, stalls) =
        (picture(report), causes(report), remedies(report), stalls(report));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style></head><body>\n<h1>{title}</h1>\n\
         <p class=\"soft\">handfastd watch {version}: all TCP connections of one machine, \
         read off its kernel.</p>\n{picture}{causes}{remedies}{stalls}</body></html>\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// Which connections stood still when, a row a peer.
fn picture(report: &Report) -> String {
    let mut peers: Vec<(&str, Duration)> = Vec::new();
    for told in &report.told {
        let length = told.stall.length();
        match peers.iter_mut().find(|(peer, _)| *peer == told.peer) {
            Some((_, total)) => *total += length,
            None => peers.push((&told.peer, length)),
        }
    }
    if peers.is_empty() {
        return String::new();
    }
    peers.sort_by_key(|&(_, total)| std::cmp::Reverse(total));
    peers.truncate(ROWS);
    let (length, bottom) = (report.passed.as_secs_f64().max(0.001), 8.0 + ROW * peers.len() as f64);
    let x = |at: f64| LEFT + at.min(length) / length * (WIDTH - LEFT - 10.0);
    let mut svg = format!(
        "<h2>When</h2>\n<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
         aria-label=\"Stalls of each peer's connections over time\">\n",
        bottom + 24.0
    );
    let step = step(length);
    let mut at = 0.0;
    while at <= length {
        let _ = writeln!(
            svg,
            "<line class=\"rule\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"4\" y2=\"{bottom}\"/>\
             <text x=\"{0:.1}\" y=\"{1}\" text-anchor=\"middle\">{at} s</text>",
            x(at),
            bottom + 18.0
        );
        at += step;
    }
    for (row, (peer, _)) in peers.iter().enumerate() {
        let y = 8.0 + ROW * row as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"row\" x=\"{LEFT}\" y=\"{y}\" \
             width=\"{}\" height=\"18\"/>",
            LEFT - 8.0,
            y + 13.0,
            escaped(peer),
            WIDTH - LEFT - 10.0
        );
        for told in report.told.iter().filter(|told| told.peer == *peer) {
            bars(&mut svg, told, y, x);
        }
    }
    svg.push_str("</svg></div>\n");
    svg
}

fn bars(svg: &mut String, told: &Told, y: f64, x: impl Fn(f64) -> f64) {
    for phase in &told.stall.phases {
        let (from, to) = (x(phase.from.as_secs_f64()), x(phase.to.as_secs_f64()));
        let _ = writeln!(
            svg,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"18\"><title>{}: {}, {}</title></rect>",
            phase.cause.word(),
            (to - from).max(1.5),
            escaped(&told.peer),
            phase.cause.text(),
            seconds(phase.length())
        );
    }
}

/// 1, 2 or 5 times a power of ten, so that there are at most ten lines.
fn step(length: f64) -> f64 {
    let mut step = 1.0;
    let mut factors = [2.0, 2.5, 2.0].into_iter().cycle();
    while length / step > 10.0 {
        step *= factors.next().unwrap_or(2.0);
    }
    step
}

fn causes(report: &Report) -> String {
    let rows = report.causes.iter().map(|(cause, share)| {
        format!(
            "<tr><td><span class=\"key {}\"></span>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            cause.word(),
            cause.text(),
            share.stalls,
            seconds(share.time)
        )
    });
    table("What it was", &["", "stalls", "time"], &rows.collect::<Vec<_>>())
}

fn remedies(report: &Report) -> String {
    let rows = report.ranked().into_iter().map(|(remedy, saving)| {
        format!(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2} s</td><td class=\"n\">{:.2} s</td></tr>\n",
            remedy.text, saving.stalls, saving.saved_s, saving.of_s
        )
    });
    let table = table("What would have helped", &["", "stalls", "saves", "of"], &rows.collect::<Vec<_>>());
    let moved = moved(report).map(|moved| format!("<p>{moved} (<code>handfastd session</code>).</p>\n"));
    let moved = moved.unwrap_or_default();
    if table.is_empty() {
        return moved;
    }
    table
        + &moved
        + "<p class=\"soft\">Each gap and each loss again in the simulator, on a path of the same round trip and rate: what \
           was waited after the path's return, or for what was lost, less what is waited there with the remedy. Medians \
           of five.</p>\n"
}

fn stalls(report: &Report) -> String {
    let mut told: Vec<&Told> = report.told.iter().collect();
    told.sort_by_key(|told| std::cmp::Reverse(told.stall.length()));
    let rows = told.iter().take(LISTED).map(|told| {
        let stall = &told.stall;
        let phases = stall.phases.iter().map(|phase| format!("{} {}", phase.cause.text(), seconds(phase.length())));
        let end = match stall.end {
            End::WentOn => "",
            End::Broke => "; the connection ended",
            End::Lasts => "; it lasts",
        };
        format!(
            "<tr><td class=\"n\">{:.1} s</td><td class=\"p\">{}</td><td>{}</td><td class=\"n\">{}</td><td>{}{end}</td></tr>\n",
            stall.from().as_secs_f64(),
            escaped(&told.peer),
            stall.direction.word(),
            seconds(stall.length()),
            phases.collect::<Vec<_>>().join(", then ")
        )
    });
    table("The longest stalls", &["at", "peer", "", "length", "what it was"], &rows.collect::<Vec<_>>())
}

fn table(title: &str, heads: &[&str], rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads = heads.iter().map(|head| {
        let class = if ["stalls", "time", "saves", "of", "at", "length"].contains(head) {
            " class=\"n\""
        } else {
            ""
        };
        format!("<th{class}>{head}</th>")
    });
    format!(
        "<h2>{title}</h2>\n<div class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
        heads.collect::<String>(),
        rows.concat()
    )
}

/// Names of peers come from the network.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_few() {
        for (length, expected) in [(8.0, 1.0), (15.0, 2.0), (45.0, 5.0), (99.0, 10.0), (3600.0, 500.0)] {
            assert!((step(length) - expected).abs() < 1e-9, "{length}: {}", step(length));
        }
    }

    #[test]
    fn what_comes_from_the_network_is_escaped() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
