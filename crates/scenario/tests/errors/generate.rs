//! Errors of `[generate]`.

use crate::support::{BASE, Case, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    (
        "a ride through one cell",
        "[[events]]",
        "[generate.ride]\nstation = \"mn\"\ncells = [\"ap\"]\nspeed = \"1km/h\"\n[[events]]",
    ),
    (
        "a generator of nothing",
        "[[flows]]",
        "[generate.dumbbell]\npairs = 0\naccess = {}\nbottleneck = {}\n[[flows]]",
    ),
    (
        "a generator without a rate",
        "[[flows]]",
        "[generate.line]\nswitches = 2\nlink = {delay = \"1ms\"}\n[[flows]]",
    ),
];

#[test]
fn messages() {
    assert_messages("generate", &[(BASE, OUTAGE)]);
}
