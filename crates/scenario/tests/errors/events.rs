//! Errors of `[[events]]`.

use crate::support::{BASE, Case, ROAM, WALK, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    ("a key of a handover", "link = \"radio\"", "link = \"radio\"\nstation = \"mn\""),
    ("the node of a restart", "link = \"radio\"", "link = \"radio\"\nnode = \"ap\""),
    ("a restart of a link", "do = \"outage\"", "do = \"restart\""),
    ("an event without its link", "link = \"radio\"\n", ""),
    ("a handover of a link", "do = \"outage\"", "do = \"handover\""),
    ("an unknown event", "do = \"outage\"", "do = \"outtage\""),
    ("an unknown link", "link = \"radio\"", "link = \"raido\""),
    ("an event after the end", "at = \"10s\"", "at = \"31s\""),
    ("a key of another event", "gap = \"3s\"", "gap = \"3s\"\nrate = \"1Mbit/s\""),
    ("an outage that drains", "gap = \"3s\"", "gap = \"3s\"\nmode = \"drain\""),
    ("an outage without its gap", "gap = \"3s\"\n", ""),
    ("an outage within another", "gap = \"3s\"", "gap = \"3s\"\nevery = \"2s\""),
    ("more repetitions than fit", "gap = \"3s\"", "gap = \"3s\"\nevery = \"5s\"\ntimes = 9"),
    ("a fade without its time", "do = \"outage\"", "do = \"fade\""),
    ("how weak a signal gets that does not fall", "gap = \"3s\"", "gap = \"3s\"\nsinr = \"0dB\""),
    ("a fade to no less", "gap = \"3s\"", "gap = \"3s\"\nfade = \"1s\"\nsinr = \"20dB\""),
    ("a signal without a unit", "gap = \"3s\"", "gap = \"3s\"\nfade = \"1s\"\nsinr = -5"),
    (
        "a signal that falls before it has risen",
        "gap = \"3s\"",
        "gap = \"3s\"\nfade = \"1s\"\n[[events]]\nat = \"14s\"\ndo = \"fade\"\nlink = \"radio\"\ngap = \"0s\"\nfade = \"1s\"",
    ),
    (
        "the rate of a link that fades",
        "gap = \"3s\"",
        "gap = \"3s\"\nfade = \"1s\"\n[[events]]\nat = \"20s\"\ndo = \"rate\"\nlink = \"radio\"\nrate = \"1Mbit/s\"",
    ),
    ("a phase that is none", "gap = \"3s\"", "gap = \"3s\"\nphase = \"some\""),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] = &[
    ("a handover without its gap", "gap = \"3s\"\n", ""),
    ("a handover with a direction", "gap = \"3s\"", "gap = \"3s\"\ndirection = \"forward\""),
    ("a handover that drains, and a gap", "gap = \"3s\"", "gap = \"3s\"\nmode = \"drain\""),
    ("a fade of a handover that drains", "gap = \"3s\"", "mode = \"drain\"\nfade = \"1s\""),
    ("a handover that waits", "gap = \"3s\"", "gap = \"3s\"\nmode = \"hold\""),
    (
        "a handover that never drains",
        "between = [\"ap2\", \"mn\"]\nrate = \"54Mbit/s\"\ndelay = \"1ms\"\n\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n\n[schemes.bare]\nsender = \"linux\"\nagents = [{kind = \"sdn\", at = \"role:controller\", policy = \"bare\"}]\n\n[[events]]\nat = \"10s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap2\"\ngap = \"3s\"",
        "between = [\"ap2\", \"mn\"]\nrate = \"54Mbit/s\"\ndelay = \"1ms\"\nqueue = \"unlimited\"\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n[schemes.bare]\nsender = \"sack\"\n[[events]]\nat = \"10s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap2\"\nmode = \"drain\"",
    ),
    ("a handover of a host", "station = \"mn\"", "station = \"cn\""),
    ("a handover of an unknown station", "station = \"mn\"", "station = \"mm\""),
    ("a handover to an unknown node", "to = \"ap2\"", "to = \"ap9\""),
    ("a handover to a switch", "to = \"ap2\"", "to = \"s1\""),
    ("an empty range of gaps", "gap = \"3s\"", "gap = {from = \"3s\", to = \"2s\"}"),
    ("a range without its end", "gap = \"3s\"", "gap = {from = \"3s\"}"),
    ("a gap that is a number", "gap = \"3s\"", "gap = 3"),
    (
        "a handover within another",
        "gap = \"3s\"",
        "gap = \"3s\"\n[[events]]\nat = \"12s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap1\"\ngap = \"0s\"",
    ),
    (
        "an outage during a handover",
        "gap = \"3s\"",
        "gap = \"3s\"\n[[events]]\nat = \"12s\"\ndo = \"outage\"\nlink = \"ap2-mn\"\ngap = \"1s\"",
    ),
    (
        "a handover during an outage",
        "gap = \"3s\"",
        "gap = \"3s\"\n[[events]]\nat = \"9s\"\ndo = \"outage\"\nlink = \"ap1-mn\"\ngap = \"2s\"",
    ),
    (
        "an outage where the station is not",
        "gap = \"3s\"",
        "gap = \"3s\"\n[[events]]\nat = \"9s\"\ndo = \"outage\"\nlink = \"ap2-mn\"\ngap = \"1s\"",
    ),
    ("a handover to an island", "between = [\"s1\", \"ap2\"]", "between = [\"cn\", \"s1\"]"),
];

/// Of the shipped file in which a station walks.
const WALKING: &[Case] = &[
    (
        "a handover of who moves",
        "[schemes.bare]",
        "[[events]]\nat = \"1s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap2\"\ngap = \"1s\"\n[schemes.bare]",
    ),
    (
        "an outage of who moves",
        "[schemes.bare]",
        "[[events]]\nat = \"1s\"\ndo = \"outage\"\nlink = \"ap1-mn\"\ngap = \"1s\"\n[schemes.bare]",
    ),
];

#[test]
fn messages() {
    assert_messages("events", &[(BASE, OUTAGE), (ROAM, ROAMING), (WALK, WALKING)]);
}
