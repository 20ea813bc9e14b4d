//! Structured logs: one JSON object a line on standard error.

pub(crate) mod limiter;
mod line;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;

use line::WithMode;
use writer::Writer;

/// Least important messages that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Only what ends the daemon.
    Error,
    /// And what somebody should look at.
    Warn,
    /// And what happens to peers.
    Info,
    /// And every message to a peer.
    Debug,
}

/// What a mode is called: whether a service acts, or only observes.
pub(crate) fn mode_word(acts: bool) -> &'static str {
    if acts { "act" } else { "observe" }
}

/// The log. When it is dropped, what waits is written, if somebody reads it.
pub struct Log {
    writer: Writer,
    acts: Arc<AtomicBool>,
}

impl Log {
    /// Lines that were dropped since nobody read them.
    pub(crate) fn dropped(&self) -> u64 {
        self.writer.dropped()
    }

    /// Every line says from here on whether the service acts.
    pub(crate) fn set_mode(&self, acts: bool) {
        self.acts.store(acts, Ordering::Relaxed);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.writer.flush_for_a_while();
    }
}

/// Logs from here on. Every line says whether the service acts. Neither a reader that has stopped nor a full disk stops or
/// ends the daemon.
pub(crate) fn start(level: Level, acts: bool) -> Log {
    let most = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_target(false);
    let acts = Arc::new(AtomicBool::new(acts));
    let shared = Arc::clone(&acts);
    let log = log.map_event_format(|json| WithMode { json, acts: shared });
    let writer = Writer::new(std::io::stderr(), |count| {
        format!(
            "{{\"level\":\"WARN\",\"message\":\"log lines left out: nobody read them\",\"left_out\":{count}}}\n"
        )
    });
    let to = writer.clone();
    // It fails where a log was started before: that one goes on.
    let _ = log.with_max_level(most).with_writer(move || to.clone()).try_init();
    Log { writer, acts }
}
