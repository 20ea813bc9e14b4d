//! Errors of `[[links]]`.

use crate::support::{BASE, Case, ROAM, assert_messages};

/// Of the file in which a link is gone for a while.
const OUTAGE: &[Case] = &[
    ("an unknown key", "rate = \"20Mbit/s\"", "rte = \"20Mbit/s\""),
    ("a missing key", "delay = \"19ms\"\n", ""),
    ("no unit", "delay = \"19ms\"", "delay = \"19\""),
    ("a number without a unit", "delay = \"19ms\"", "delay = 19"),
    ("an unknown unit", "rate = \"20Mbit/s\"", "rate = \"20Mbps\""),
    ("a wrong type", "rate = \"20Mbit/s\"", "rate = true"),
    ("a queue that is a number", "queue = \"100pkt\"", "queue = 100"),
    ("an unknown discipline", "queue = \"100pkt\"", "queue = \"codl\""),
    (
        "a table of an unknown discipline",
        "queue = \"100pkt\"",
        "queue = {discipline = \"pie\", limit = \"9pkt\"}",
    ),
    ("a queue without its discipline", "queue = \"100pkt\"", "queue = {target = \"5ms\"}"),
    ("an unknown parameter", "queue = \"100pkt\"", "queue = {targt = \"5ms\", discipline = \"codel\"}"),
    (
        "a parameter of another discipline",
        "queue = \"100pkt\"",
        "queue = {discipline = \"drop-tail\", interval = \"5ms\"}",
    ),
    ("a parameter without a unit", "queue = \"100pkt\"", "queue = {discipline = \"codel\", target = 5}"),
    ("a target that is none", "queue = \"100pkt\"", "queue = {discipline = \"codel\", target = \"5pkt\"}"),
    ("a target of zero", "queue = \"100pkt\"", "queue = {discipline = \"codel\", target = \"0s\"}"),
    (
        "a share of more than all",
        "queue = \"100pkt\"",
        "queue = {discipline = \"red\", probability = \"101%\"}",
    ),
    ("a quantum of nothing", "queue = \"100pkt\"", "queue = {discipline = \"fq-codel\", quantum = \"0B\"}"),
    (
        "a threshold in packets",
        "queue = \"100pkt\"",
        "queue = {discipline = \"dualpi2\", threshold = \"5pkt\"}",
    ),
    (
        "a share that leaves nothing",
        "queue = \"100pkt\"",
        "queue = {discipline = \"dualpi2\", classic_share = \"100%\"}",
    ),
    ("a threshold in bytes", "queue = \"100pkt\"", "queue = {discipline = \"red\", min = \"5kB\"}"),
    ("a limit without room", "queue = \"100pkt\"", "queue = {discipline = \"codel\", limit = \"1kB\"}"),
    ("a queue that is none", "queue = \"100pkt\"", "queue = \"100\""),
    ("a queue without room", "queue = \"100pkt\"", "queue = \"1kB\""),
    ("a trace of nothing", "queue = \"100pkt\"", "trace = {}"),
    ("a trace of two things", "queue = \"100pkt\"", "trace = {text = \"5\", generate = \"train\"}"),
    ("a trace that nobody draws", "queue = \"100pkt\"", "trace = {generate = \"starlnk\"}"),
    ("a trace that is not there", "queue = \"100pkt\"", "trace = {file = \"no/such.csv\"}"),
    ("a trace of a folder", "queue = \"100pkt\"", "trace = {file = \"/\"}"),
    ("a trace with a wrong line", "queue = \"100pkt\"", "trace = {text = \"time_s,loss\\n0,1\\n1,2\"}"),
    ("a trace that runs back", "queue = \"100pkt\"", "trace = {text = \"5\\n4\"}"),
    ("a way of a recording", "queue = \"100pkt\"", "trace = {text = \"5\", way = \"up\"}"),
    ("an end of what is drawn", "queue = \"100pkt\"", "trace = {generate = \"train\", end = \"hold\"}"),
    ("an end that is none", "queue = \"100pkt\"", "trace = {text = \"5\", end = \"stop\"}"),
    ("words for a count", "queue = \"100pkt\"", "air = {standard = \"802.11g\", attempts = \"many\"}"),
    (
        "a queue of bytes on the air",
        "queue = \"100pkt\"",
        "queue = \"100kB\"\nair = {standard = \"802.11b\"}\nforward = {rate = \"11Mbit/s\"}\nbackward = {rate = \"11Mbit/s\"}",
    ),
    ("a rate that is none of 802.11", "queue = \"100pkt\"", "air = {standard = \"802.11g\"}"),
    ("an unknown standard", "queue = \"100pkt\"", "air = {standard = \"802.11be\"}"),
    ("a rate that is none of 802.11n", "queue = \"100pkt\"", "air = {standard = \"802.11n\", streams = 1}"),
    ("a wide channel of 802.11n", "queue = \"100pkt\"", "air = {standard = \"802.11n\", width = \"80MHz\"}"),
    ("an unknown width", "queue = \"100pkt\"", "air = {standard = \"802.11ac\", width = \"30MHz\"}"),
    ("802.11ac at 2.4 GHz", "queue = \"100pkt\"", "air = {standard = \"802.11ac\", band = \"2.4GHz\"}"),
    (
        "a wide channel at 2.4 GHz",
        "queue = \"100pkt\"",
        "air = {standard = \"802.11ax\", band = \"2.4GHz\", width = \"80MHz\"}",
    ),
    (
        "a guard interval of 802.11ax",
        "queue = \"100pkt\"",
        "air = {standard = \"802.11ac\", guard = \"1600ns\"}",
    ),
    ("five streams of 802.11n", "queue = \"100pkt\"", "air = {standard = \"802.11n\", streams = 5}"),
    ("nine streams", "queue = \"100pkt\"", "air = {standard = \"802.11ac\", streams = 9}"),
    ("an A-MPDU of 802.11ax", "queue = \"100pkt\"", "air = {standard = \"802.11ac\", aggregation = 256}"),
    ("a long transmission", "queue = \"100pkt\"", "air = {standard = \"802.11ac\", longest = \"10ms\"}"),
    (
        "a rate that is given and chosen",
        "queue = \"100pkt\"",
        "air = {standard = \"802.11n\", rate_control = \"minstrel\"}",
    ),
    (
        "Minstrel of 802.11g",
        "queue = \"100pkt\"",
        "air = {standard = \"802.11g\", rate_control = \"minstrel\"}",
    ),
    ("aggregation of 802.11g", "queue = \"100pkt\"", "air = {standard = \"802.11g\", aggregation = 64}"),
    (
        "a wire on the air",
        "between = [\"cn\", \"ap1\"]",
        "between = [\"cn\", \"ap1\"]\nair = {standard = \"802.11g\"}",
    ),
    (
        "a wire with a cellular radio",
        "between = [\"cn\", \"ap1\"]",
        "between = [\"cn\", \"ap1\"]\naccess = \"lte\"",
    ),
    ("an unknown generation", "queue = \"100pkt\"", "access = \"3g\""),
    ("an unknown key of a cellular radio", "queue = \"100pkt\"", "access = {profile = \"lte\", blr = 0.1}"),
    ("a cellular radio without its profile", "queue = \"100pkt\"", "access = {bler = 0.1}"),
    ("a cellular radio that is none", "queue = \"100pkt\"", "access = 5"),
    (
        "more transmissions than there are",
        "queue = \"100pkt\"",
        "access = {profile = \"lte\", transmissions = 29}",
    ),
    ("a slot that NR has not", "queue = \"100pkt\"", "access = {profile = \"nr\", slot = \"0.6ms\"}"),
    ("a slot that LTE has not", "queue = \"100pkt\"", "access = {profile = \"lte\", slot = \"0.5ms\"}"),
    ("a timer of zero", "queue = \"100pkt\"", "access = {profile = \"lte\", t_poll_retransmit = \"0s\"}"),
    (
        "a cellular radio on the air",
        "queue = \"100pkt\"",
        "access = \"nr\"\nair = {standard = \"802.11b\"}\nforward = {rate = \"11Mbit/s\"}\nbackward = {rate = \"11Mbit/s\"}",
    ),
    (
        "a cellular radio that follows a trace",
        "queue = \"100pkt\"",
        "access = \"lte\"\ntrace = {generate = \"starlink\"}",
    ),
    ("no attempt at all", "queue = \"100pkt\"", "air = {standard = \"802.11g\", attempts = 0}"),
    ("a rate of zero", "rate = \"20Mbit/s\"", "rate = \"0Mbit/s\""),
    ("an impossible probability", "queue = \"100pkt\"", "loss = 1.5"),
    ("an unknown loss", "queue = \"100pkt\"", "loss = {bits = 1e-6}"),
    ("an incomplete loss", "queue = \"100pkt\"", "loss = [0.01, {gilbert-elliott = {good_to_bad = 0.1}}]"),
    ("a packet number of zero", "queue = \"100pkt\"", "loss = {list = [0, 3]}"),
    (
        "a bucket that holds no packet",
        "queue = \"100pkt\"",
        "loss = {police = {rate = \"5Mbit/s\", burst = \"1kB\"}}",
    ),
    ("a policer without a burst", "queue = \"100pkt\"", "loss = {police = {rate = \"5Mbit/s\"}}"),
    ("two losses in one table", "queue = \"100pkt\"", "loss = {bit = 1e-6, list = [3]}"),
    ("an unknown node", "between = [\"ap1\", \"mn\"]", "between = [\"ap2\", \"mn\"]"),
    ("three ends", "between = [\"ap1\", \"mn\"]", "between = [\"ap1\", \"mn\", \"cn\"]"),
    ("a link to itself", "between = [\"ap1\", \"mn\"]", "between = [\"ap1\", \"ap1\"]"),
    ("two links of one name", "between = [\"cn\", \"ap1\"]", "name = \"radio\"\nbetween = [\"cn\", \"ap1\"]"),
    ("a name that cannot be one", "name = \"radio\"", "name = \"the radio\""),
];

/// Of the file in which a station roams.
const ROAMING: &[Case] =
    &[("a link to a controller", "between = [\"s1\", \"ap2\"]", "between = [\"ctl\", \"ap2\"]")];

#[test]
fn messages() {
    assert_messages("links", &[(BASE, OUTAGE), (ROAM, ROAMING)]);
}
