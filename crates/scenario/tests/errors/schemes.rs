//! Errors of `[schemes]` and `[tcp]`: profiles and their settings.

use crate::support::{BASE, Case, ROAM, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    (
        "loss notification of a receiver without SACK",
        "to = \"mn\"\n",
        "to = \"mn\"\n[schemes.deaf]\nsender = \"sack\"\nreceiver = {profile = \"tahoe\", eln = true}\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n",
    ),
    ("a scheme that is no table", "[schemes.sack]", "[schemes]\nsack = \"sack\"\n[schemes.sick]"),
    ("an array for a table", "[schemes.sack]", "[schemes.sick]\nsender = [\"sack\"]\n[schemes.sack]"),
    ("an unknown profile", "sender = \"sack\"", "sender = \"sackk\""),
    ("an unknown setting", "sender = \"sack\"", "sender = {profile = \"sack\", rto_minimum = \"1s\"}"),
    (
        "a setting by its old name and by its new one",
        "sender = \"sack\"",
        "sender = {profile = \"sack\", growth = \"reno\", congestion_control = \"cubic\"}",
    ),
    ("settings that contradict", "sender = \"sack\"", "sender = {profile = \"sack\", rto_max = \"100ms\"}"),
    ("settings of all that contradict", "[schemes.sack]", "[tcp]\nrto_max = \"100ms\"\n[schemes.sack]"),
    (
        "an integer out of bounds",
        "sender = \"sack\"",
        "sender = {profile = \"cubic\", cubic_beta_permille = 1000}",
    ),
    ("an unknown parameter of SCTP", "sender = \"sack\"", "sender = \"sack\"\nsctp = {rto_minn = \"1s\"}"),
    ("a timeout of nothing", "sender = \"sack\"", "sender = \"sack\"\nsctp = {rto_min = \"0s\"}"),
    (
        "timeouts the wrong way round",
        "sender = \"sack\"",
        "sender = \"sack\"\nsctp = {rto_min = \"2s\", rto_max = \"1s\"}",
    ),
    ("a SACK that is late", "sender = \"sack\"", "sender = \"sack\"\nsctp = {sack_delay = \"501ms\"}"),
    ("SACK without SACK", "sender = \"sack\"", "sender = {profile = \"sack\", sack = false}"),
    ("accurate ECN without ECN", "sender = \"sack\"", "sender = {profile = \"sack\", accurate_ecn = true}"),
    ("accurate ECN of all without ECN", "[schemes.sack]", "[tcp]\naccurate_ecn = true\n[schemes.sack]"),
    (
        "the option of accurate ECN without it",
        "sender = \"sack\"",
        "sender = {profile = \"sack\", accurate_ecn_option = \"minimum\"}",
    ),
    (
        "Prague without accurate ECN",
        "sender = \"sack\"",
        "sender = {profile = \"linux\", congestion_control = \"prague\", ecn = true}\nreceiver = \"prague\"",
    ),
    ("Prague without a receiver that counts", "sender = \"sack\"", "sender = \"prague\""),
    (
        "a fallback of Prague without Prague",
        "sender = \"sack\"",
        "sender = {profile = \"linux\", prague_fallback = true}",
    ),
    ("a request that is no rate", "sender = \"sack\"", "sender = {profile = \"sack\", quick_start = \"on\"}"),
    (
        "two ways to find a rate",
        "sender = \"sack\"",
        "sender = {profile = \"sack\", quick_start = \"access\", estimate = \"pair-chirp\"}",
    ),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] =
    &[("an unknown rule", "sender = \"linux\"", "sender = {profile = \"sack\", vho = [\"minrto\"]}")];

#[test]
fn messages() {
    assert_messages("schemes", &[(BASE, OUTAGE), (ROAM, ROAMING)]);
}
