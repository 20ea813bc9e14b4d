//! Errors of a scheme's `agents`.

use crate::support::{BASE, Case, ROAM, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    (
        "an unknown role",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snoop\", at = \"role:basestation\"}]",
    ),
    (
        "an agent that is not built",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snop\", at = \"role:base-station\"}]",
    ),
    (
        "a key of the controller",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snoop\", at = \"role:base-station\", policy = \"bare\"}]",
    ),
    (
        "a key of another agent",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snoop\", at = \"role:base-station\", threshold_permille = 900}]",
    ),
    (
        "a proxy with a profile that is none",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"proxy\", at = \"role:base-station\", client_side = \"linus\"}]",
    ),
    (
        "a proxy with a buffer that no window reaches",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"proxy\", at = \"role:base-station\", buffer = \"2GB\"}]",
    ),
    (
        "more interleaved packets than are kept",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"fec\", at = \"role:base-station\", packets = 20, interleave = 10}]",
    ),
    (
        "interleaved blocks that are given up too soon",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"fec\", at = \"role:base-station\", interleave = 2, wait = \"60ms\"}]",
    ),
    (
        "an agent at a name",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snoop\", at = \"ap1\"}]",
    ),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] = &[
    (
        "an agent in no station",
        "kind = \"sdn\", at = \"role:controller\", policy = \"bare\"",
        "kind = \"vho\", at = \"role:other\"",
    ),
    ("a key of a station's agent", "policy = \"bare\"", "policy = \"bare\", repeat = 2"),
    (
        "an end notice with `late_by` that is not late",
        "policy = \"bare\"",
        "policy = \"bare\", end_notice = \"never\", late_by = \"1s\"",
    ),
    ("silence without failures", "policy = \"bare\"", "policy = \"bare\", tx_silence = \"1s\""),
    ("no failures", "policy = \"bare\"", "policy = \"bare\", tx_failures = 0"),
    (
        "a zero-window scheme without an end notice",
        "policy = \"bare\"",
        "policy = \"zwa\", end_notice = \"never\"",
    ),
    (
        "an end notice by its older name as well",
        "policy = \"bare\"",
        "policy = \"bare\", news = \"never\", end_notice = \"late\"",
    ),
    ("an unknown kind of end notice", "policy = \"bare\"", "policy = \"bare\", end_notice = \"old\""),
    ("a controller without a policy", ", policy = \"bare\"", ""),
    ("a policy that is none", "policy = \"bare\"", "policy = \"spuriuos\""),
    ("a key that no agent takes", "policy = \"bare\"", "policy = \"bare\", hold = \"port\""),
    ("a key of another agent", "policy = \"bare\"", "policy = \"bare\", cache = \"1MB\""),
    ("an agent in a switch", "role:controller", "role:other"),
    ("an agent in two controllers", "role = \"other\"", "role = \"controller\""),
    (
        "a rate of a release at once",
        "policy = \"bare\"",
        "policy = \"bare\", release = \"unpaced\", release_rate = \"1Mbit/s\"",
    ),
    ("a time that no flow entry has", "policy = \"bare\"", "policy = \"bare\", hold_expiry = \"500ms\""),
];

#[test]
fn messages() {
    assert_messages("agents", &[(BASE, OUTAGE), (ROAM, ROAMING)]);
}
