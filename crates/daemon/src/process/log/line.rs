//! A line of the log. The mode comes first, so that nobody takes what an observer would do for what was done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::mode_word;

/// JSON lines with the mode.
pub(super) struct WithMode {
    pub(super) json: Format<Json>,
    /// Whether it acts.
    pub(super) acts: Arc<AtomicBool>,
}

impl<S, N> FormatEvent<S, N> for WithMode
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = String::new();
        self.json.format_event(ctx, Writer::new(&mut line), event)?;
        match line.strip_prefix('{') {
            Some(rest) => {
                let mode = mode_word(self.acts.load(Ordering::Relaxed));
                write!(to, "{{\"mode\":\"{mode}\",{rest}")
            }
            None => to.write_str(&line),
        }
    }
}
