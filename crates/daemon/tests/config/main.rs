//! What users see when a configuration is wrong. All messages on one page: `snapshots/config__messages.snap`.

use std::fmt::Write;
use std::process::Command;

use handfast_daemon::config::Settings;
use handfast_document::testing::edited;

mod check;
mod shared;

const BASE: &str = include_str!("base.toml");

/// What is wrong, what the base file says, and what it says instead.
const CASES: &[(&str, &str, &str)] = &[
    ("an unknown key", "priority = 40000", "priorty = 40000"),
    ("an unknown key of an access point", "port = 2", "prot = 2"),
    ("an unknown mode", "mode = \"act\"", "mode = \"acting\""),
    ("a mode that is no word", "mode = \"act\"", "mode = 3"),
    ("a table for a size", "[limits]", "[limits]\ndatagram_bytes = {}"),
    ("an integer beyond 64 bits", "priority = 40000", "priority = 99999999999999999999"),
    ("a datapath id without quotation marks", "\"0000000000000002\"", "2"),
    ("a list for a word", "priority = 40000", "priority = 40000\nlog = [\"info\"]"),
    ("an unknown policy", "policy = \"spurious\"", "policy = \"spurios\""),
    ("a key of scenarios only", "priority = 40000", "notification = \"2ms\""),
    ("a policy of the simulator only", "policy = \"spurious\"", "policy = \"zwa\""),
    ("no rate of release", "release_rate = \"54Mbit/s\"\n", ""),
    ("an unknown release", "release_rate = \"54Mbit/s\"", "release = \"fast\""),
    ("a release that is no word", "release_rate = \"54Mbit/s\"", "release = 3"),
    ("an unknown key of an older release", "release_rate = \"54Mbit/s\"", "release = {rat = \"54Mbit/s\"}"),
    (
        "an older name beside today's",
        "release_rate = \"54Mbit/s\"",
        "release_rate = \"54Mbit/s\"\nrelease = {rate = \"1Mbit/s\"}",
    ),
    ("a size without a unit by its older name", "[limits]", "[limits]\nper_connection = 3"),
    ("a rate of zero", "54Mbit/s", "0bit/s"),
    ("an unknown unit", "54Mbit/s", "54Mbps"),
    ("a number without a unit", "hold_expiry = \"10s\"", "hold_expiry = 10"),
    ("a time that no flow entry has", "hold_expiry = \"10s\"", "hold_expiry = \"20h\""),
    ("an age that is none", "hold_expiry = \"10s\"", "datagram_age = \"soon\""),
    ("a priority without room above", "priority = 40000", "priority = 65534"),
    (
        "no access point",
        "[access_points.ap1]\ndatapath_id = \"0000000000000001\"\nport = 2\n\n[access_points.ap2]\ndatapath_id = \"0000000000000002\"\nport = 1\nrate = \"24Mbit/s\"\n",
        "",
    ),
    ("no socket", "association_socket = \"/run/handfast.sock\"\n", ""),
    ("an empty path", "/run/handfast.sock", ""),
    ("a datapath id that is none", "datapath_id = \"0000000000000002\"", "datapath_id = \"2\""),
    ("a port that is none", "port = 2", "port = 0"),
    ("a VLAN that is none", "port = 2", "port = 2\nvlan = 4095"),
    ("an unknown treatment", "priority = 40000", "priority = 40000\nnot_tcp = {udp = \"keep\"}"),
    ("a gateway that is none", "priority = 40000", "priority = 40000\nnever_hold = [\"10.0.0.1\"]"),
    ("the address of a group", "priority = 40000", "priority = 40000\nnever_hold = [\"ff:ff:ff:ff:ff:ff\"]"),
    ("no address", "127.0.0.1:6653", "localhost"),
    ("an address that others reach", "127.0.0.1:6653", "0.0.0.0:6653"),
    (
        "a write buffer that a release overflows",
        "release_rate = \"54Mbit/s\"\nrelease_burst = \"15kB\"\nhold_per_station = \"16MB\"",
        "release = \"unpaced\"\nlimits.write_buffer = \"2MB\"\nhold_per_station = \"4MB\"",
    ),
    ("a limit of nothing", "connections = 30000", "connections = 0"),
    ("no TOML", "priority = 40000", "priority: 40000"),
];

#[test]
fn messages() {
    Settings::parse(BASE, "handfastd.toml").unwrap();
    let mut out = String::new();
    for (what, old, new) in CASES {
        assert!(BASE.contains(old), "{what}: the base file lacks {old}");
        let mut text = BASE.replacen(old, new, 1);
        if new.contains("limits.") {
            text = edited(&text, "[limits]\nconnections = 30000\n", "");
        }
        let error = Settings::parse(&text, "handfastd.toml").expect_err(what);
        write!(out, "# {what} (line {}, key `{}`)\n{error}\n\n", error.line, error.key).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn what_it_would_do() {
    let settings = Settings::parse(BASE, "handfastd.toml").unwrap();
    insta::assert_snapshot!(settings.plan());
    let insecure =
        edited(BASE, "listen = \"127.0.0.1:6653\"", "listen = \"[::]:6653\"\ninsecure_listen = true");
    assert!(Settings::parse(&insecure, "x").unwrap().plan().contains("warning: other machines can reach"));
    let treated = "not_tcp = {udp = \"drop\", quic = \"hold\", icmp = \"pass\"}";
    let dropping = edited(BASE, "hold_expiry = \"10s\"", treated);
    let plan = Settings::parse(&dropping, "x").unwrap().plan();
    assert!(plan.contains("lets pass: ICMP, other protocols; holds for at most 1s: QUIC ("), "{plan}");
    assert!(plan.contains("; drops: UDP\n"), "{plan}");
    let observing = edited(BASE, "mode = \"act\"\n", "");
    assert!(Settings::parse(&observing, "x").unwrap().plan().starts_with("observe: "));
}

#[test]
fn the_version_is_that_of_handfastd() {
    let said = Command::new(env!("CARGO_BIN_EXE_handfastd")).arg("--version").output().unwrap();
    let expected = concat!("handfastd ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(said.stdout).unwrap(), expected);
}

#[test]
fn the_example_is_right() {
    let example = include_str!("../../../../examples/handfastd.toml");
    let settings = Settings::parse(example, "examples/handfastd.toml").unwrap();
    assert!(settings.plan().starts_with("observe: "), "nobody begins by acting");
}

/// Every key that errors list is in the documentation.
#[test]
fn all_keys_are_documented() {
    let page = include_str!("../../../../docs/reference/handfastd.md");
    for (path, text) in [
        ("the top", "x = 1"),
        ("access points", "[access_points.ap1]\nx = 1"),
        ("limits", "[limits]\nx = 1"),
        ("what is not TCP", "[not_tcp]\nx = 1"),
    ] {
        let text = format!("association_socket = \"/x\"\n{text}");
        let error = Settings::parse(&text, "x").unwrap_err().to_string();
        let (_, keys) = error.split_once("expected one of: ").unwrap();
        let tables = ["access_points", "limits", "not_tcp"];
        for key in keys.lines().next().unwrap().split(", ").filter(|key| !tables.contains(key)) {
            assert!(
                page.contains(&format!("`{key}`")) || page.contains(&format!("[{key}]")),
                "{path}: {key}"
            );
        }
    }
}
