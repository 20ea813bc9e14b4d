//! The machine a run ran on.

use std::fs;
use std::thread::available_parallelism;

use handfast_results::result::Environment;

/// What is known before a run.
pub(crate) fn environment() -> Environment {
    Environment {
        kernel: format!("Linux {}", first_line("/proc/sys/kernel/osrelease")),
        processor: processor(),
        cores: available_parallelism().map_or(1, |n| n.get() as u32),
        load_1min: first_line("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()),
        realtime: false,
        lateness_p50_s: None,
        lateness_p99_s: None,
        lateness_max_s: None,
        counters: std::collections::BTreeMap::new(),
        problems: Vec::new(),
    }
}

/// Empty where there is none.
fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The model's name; processors that say none are called by their architecture.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    names.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
