//! A bridge's table on this kernel.

use std::io::ErrorKind;
use std::process::Command;
use std::time::Instant;

use handfast_lab::{ForwardingTables, Interface, Netns};
use nix::net::if_::if_nametoindex;

use crate::spaces::{ip, spaces};

const STATION: [u8; 6] = [2, 0, 10, 0, 0, 5];

/// The ports at which the bridge has the station.
fn ports(space: &str) -> Vec<String> {
    let shown = Command::new("bridge").args(["-n", space, "fdb", "show", "br", "bridge"]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("02:00:0a:00:00:05") && line.contains("static"));
    lines.map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect()
}

#[test]
fn a_station_is_at_the_port_that_was_told_last() {
    let Some(mut spaces) = spaces() else { return };
    let space = spaces.add("bridge");
    ip(&format!("-n {space} link add bridge type bridge stp_state 0")).unwrap();
    for port in ["p1", "p2"] {
        spaces.wire(&space, port, "02:00:00:00:00:01");
        ip(&format!("-n {space} link set dev {port} master bridge")).unwrap();
    }
    spaces.wire(&space, "alone", "02:00:00:00:00:02");
    let (tables, [p1, p2, alone]) = {
        let _there = Netns::open(&space).unwrap().enter().unwrap();
        let index = |name| -> Interface { if_nametoindex(name).unwrap() };
        (ForwardingTables::open().unwrap(), ["p1", "p2", "alone"].map(index))
    };
    // From any namespace.
    tables.point(STATION, p1).unwrap();
    assert_eq!(ports(&space), ["p1"]);
    let begin = Instant::now();
    for _ in 0..100 {
        tables.point(STATION, p2).unwrap();
        tables.point(STATION, p1).unwrap();
    }
    println!("{:?} for each change", begin.elapsed() / 200);
    tables.point(STATION, p2).unwrap();
    assert_eq!(ports(&space), ["p2"]);
    assert_eq!(tables.point(STATION, alone).unwrap_err().kind(), ErrorKind::Unsupported);
    let gone = tables.point(STATION, 9_999).unwrap_err();
    assert_eq!(gone.raw_os_error(), Some(nix::errno::Errno::ENODEV as i32));
}
