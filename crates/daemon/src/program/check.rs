//! `--check`: what a service would do, what differs from one that runs, and what of this machine is in the way.

use serde_json::json;

use crate::process::{ask, changes, say};
use crate::services::{Configured, unobstructed};

/// Says it all; the error is what is in the way, a line each.
pub(super) fn check(name: &str, service: &dyn Configured) -> Result<(), String> {
    for line in service.plan().lines() {
        say(line);
    }
    // What the running service has taken is no obstacle.
    if say_difference(name, service) {
        return Ok(());
    }
    unobstructed(service)
}

/// In what a running service differs from its configuration; whether one runs.
fn say_difference(name: &str, service: &dyn Configured) -> bool {
    let Some(socket) = service.control_socket() else { return false };
    let Ok(status) = ask(socket, &json!({"event": "status"})) else { return false };
    let running: Vec<&str> =
        status["plan"].as_array().into_iter().flatten().filter_map(|line| line.as_str()).collect();
    let changes = changes(&running.join("\n"), &service.plan());
    if changes.is_empty() {
        say(&format!("a {name} runs with this configuration"));
        return true;
    }
    say(&format!("a {name} runs; SIGHUP would change:"));
    for change in changes {
        say(&change);
    }
    true
}
