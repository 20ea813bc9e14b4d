//! Errors of `[[flows]]`.

use crate::support::{BASE, Case, ROAM, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    (
        "datagrams that are too short",
        "app = \"bulk\"",
        "app = {datagrams = {size = \"15B\", interval = \"20ms\"}}",
    ),
    (
        "datagrams without a pause",
        "app = \"bulk\"",
        "app = {datagrams = {size = \"160B\", interval = \"0s\"}}",
    ),
    (
        "a paced flow that reconnects",
        "app = \"bulk\"",
        "app = {paced = {size = \"160B\", interval = \"20ms\"}}\nreconnect = \"1s\"",
    ),
    ("a flow that reconnects at once", "app = \"bulk\"", "app = \"bulk\"\nreconnect = \"0s\""),
    (
        "datagrams that are measured",
        "app = \"bulk\"",
        "app = {datagrams = {size = \"160B\", interval = \"20ms\"}}\nmeasure = [\"delay\"]",
    ),
    ("an unknown transport", "app = \"bulk\"", "transport = \"stcp\""),
    ("a flow of SCTP with a scheme's TCP", "app = \"bulk\"", "transport = \"sctp\"\ntcp = \"sack\""),
    ("a flow of SCTP that reconnects", "app = \"bulk\"", "transport = \"sctp\"\nreconnect = \"1s\""),
    ("a flow of several associations", "app = \"bulk\"", "transport = \"sctp\"\nconnections = 2"),
    ("a slow reader of SCTP", "app = \"bulk\"", "transport = \"sctp\"\nread_rate = \"1Mbit/s\""),
    ("SCTP that is measured", "app = \"bulk\"", "transport = \"sctp\"\nmeasure = [\"delay\"]"),
    (
        "datagrams over SCTP",
        "app = \"bulk\"",
        "app = {datagrams = {size = \"160B\", interval = \"20ms\"}}\ntransport = \"sctp\"",
    ),
    ("keystrokes without a pause", "app = \"bulk\"", "app = {terminal = {interval = \"0s\"}}"),
    ("a terminal that reconnects", "app = \"bulk\"", "app = {terminal = {}}\nreconnect = \"1s\""),
    ("a terminal that is measured", "app = \"bulk\"", "app = {terminal = {}}\nmeasure = [\"delay\"]"),
    ("a terminal over MPTCP", "app = \"bulk\"", "app = {terminal = {}}\ntransport = \"mptcp\""),
    ("a page by several connections of a flow", "app = \"bulk\"", "app = {page = {}}\nconnections = 2"),
    ("HTTP/2 by several connections", "app = \"bulk\"", "app = {page = {connections = 2}}"),
    ("an unknown version of HTTP", "app = \"bulk\"", "app = {page = {http = \"3\"}}"),
    ("a page lighter than its objects", "app = \"bulk\"", "app = {page = {objects = 20, weight = \"19B\"}}"),
    ("a ladder that falls", "app = \"bulk\"", "app = {video = {ladder = [\"3Mbit/s\", \"1Mbit/s\"]}}"),
    ("a buffer of one segment", "app = \"bulk\"", "app = {video = {segment = \"4s\", buffer = \"5s\"}}"),
    ("a measure that there is not", "app = \"bulk\"", "measure = [\"delays\"]"),
    ("a flow without connections", "app = \"bulk\"", "connections = 0"),
    ("a flow with too many connections", "app = \"bulk\"", "connections = 129"),
    (
        "a paced flow with several connections",
        "app = \"bulk\"",
        "app = {paced = {size = \"160B\", interval = \"20ms\"}}\nconnections = 2",
    ),
    ("flows with too many connections", "app = \"bulk\"", "count = 1000\nconnections = 128"),
    ("a flow with an unknown scheme's TCP", "to = \"mn\"\n", "to = \"mn\"\ntcp = \"sacc\"\n"),
    ("a missing key of a flow", "to = \"mn\"\n", ""),
    ("flows that are no array", "[[flows]]", "[flows]"),
    ("a flow that cannot arrive", "{kind = \"ap\"", "{kind = \"host\""),
    ("a flow to a switch", "to = \"mn\"", "to = \"ap1\""),
    ("a flow to itself", "to = \"mn\"", "to = \"cn\""),
    ("an unknown application", "app = \"bulk\"", "app = \"bulck\""),
    ("a flow that starts too late", "app = \"bulk\"", "start = \"30s\""),
    ("a flow that stops first", "app = \"bulk\"", "start = \"5s\"\nstop = \"4s\""),
    ("no flow at all", "[[flows]]\nfrom = \"cn\"\nto = \"mn\"\napp = \"bulk\"\n", ""),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] = &[("a flow from a controller", "from = \"cn\"", "from = \"ctl\"")];

#[test]
fn messages() {
    assert_messages("flows", &[(BASE, OUTAGE), (ROAM, ROAMING)]);
}
