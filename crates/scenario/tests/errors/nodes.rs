//! Errors of `[nodes]`.

use crate::support::{BASE, BOTH, Case, ROAM, WALK, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    ("an unknown kind", "{kind = \"station\"}", "{kind = \"sation\"}"),
    ("a node without a link", "mn = {kind", "spare = {kind = \"host\"}\nmn = {kind"),
    ("two nodes of one name", "mn = {kind", "cn = {kind"),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] = &[
    ("an unknown first access point", "mn = {kind = \"station\"", "mn = {kind = \"station\", ap = \"ap3\""),
    ("an access point of a host", "cn = {kind = \"host\"", "cn = {kind = \"host\", ap = \"ap1\""),
    ("two links to an access point", "between = [\"ap2\", \"mn\"]", "between = [\"ap1\", \"mn\"]"),
    (
        "a station that moves without air",
        "mn = {kind = \"station\"",
        "mn = {kind = \"station\", at = [0, 0], mobility = \"still\"",
    ),
    ("a channel of a station", "mn = {kind = \"station\"", "mn = {kind = \"station\", channel = 6"),
    ("a place that is none", "mn = {kind = \"station\"", "mn = {kind = \"station\", at = [0]"),
];

/// Of the file in which a station has two radios at once.
const TWO_RADIOS: &[Case] = &[
    ("no access point", "[\"cell\", \"wifi\"]", "[]"),
    ("an access point twice", "[\"cell\", \"wifi\"]", "[\"cell\", \"cell\"]"),
    ("an access point that is a number", "[\"cell\", \"wifi\"]", "7"),
    ("an access point without a link", "[\"cell\", \"wifi\"]", "[\"cell\", \"wfii\"]"),
    ("two radios in no network", ", network = \"wifi\"", ""),
    ("two radios in one network", "network = \"wifi\"", "network = \"5g\""),
    ("two radios, one of them on the air", "rate = \"50Mbit/s\"", "air = {standard = \"802.11b/g\"}"),
    (
        "a handover of a station with two radios",
        "do = \"outage\"\nlink = \"5g\"",
        "do = \"handover\"\nstation = \"mn\"\nto = \"wifi\"",
    ),
];

/// Of the shipped file in which a station walks.
const WALKING: &[Case] = &[
    ("a station that moves from nowhere", "at = [15, 0], ", ""),
    ("a station that hears nobody", "at = [15, 0]", "at = [35, 0]"),
    ("an access point of who moves", "at = [15, 0], ", "at = [15, 0], ap = \"ap1\", "),
    ("no such channel", "channel = 6", "channel = 14"),
    ("a speed without its unit", "\"2m/s\"", "\"2\""),
    ("a length that is a duration", "\"33m\"", "\"33ms\""),
    ("an unknown movement", "{linear", "{spiral"),
    (
        "a way without speed",
        "{linear = {towards = [55, 0], speed = \"2m/s\", then = \"bounce\"}}",
        "{random-waypoint = {area = [[0, 0], [9, 9]], speed = \"1m/s\", slowest = \"0m/s\"}}",
    ),
    (
        "speeds the wrong way round",
        "{linear = {towards = [55, 0], speed = \"2m/s\", then = \"bounce\"}}",
        "{random-walk = {area = [[0, 0], [9, 9]], speed = \"1m/s\", slowest = \"2m/s\"}}",
    ),
    (
        "an area with one corner",
        "{linear = {towards = [55, 0], speed = \"2m/s\", then = \"bounce\"}}",
        "{random-walk = {area = [[0, 0]], speed = \"1m/s\"}}",
    ),
    (
        "a trace that is none",
        "{linear = {towards = [55, 0], speed = \"2m/s\", then = \"bounce\"}}",
        "{trace = {text = \"0,0\"}}",
    ),
    (
        "a trace of somebody else",
        "{linear = {towards = [55, 0], speed = \"2m/s\", then = \"bounce\"}}",
        "{trace = {text = \"0,0,0\", station = 3}}",
    ),
];

#[test]
fn messages() {
    assert_messages("nodes", &[(BASE, OUTAGE), (ROAM, ROAMING), (BOTH, TWO_RADIOS), (WALK, WALKING)]);
}
