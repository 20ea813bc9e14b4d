//! What users see when a file is wrong. All messages on one page: `snapshots/errors__messages.snap`.

use std::fmt::Write;

use handfast_scenario::Scenario;

const BASE: &str = include_str!("base.toml");
const ROAM: &str = include_str!("roam.toml");
const WALK: &str = include_str!("../../../../scenarios/wifi-walk.toml");

/// What is wrong, what the base file says, and what it says instead.
const CASES: &[(&str, &str, &str)] = &[
    ("an unknown key", "rate = \"20Mbit/s\"", "rte = \"20Mbit/s\""),
    (
        "a ride through one cell",
        "[[events]]",
        "[generate.ride]\nstation = \"mn\"\ncells = [\"ap\"]\nspeed = \"1km/h\"\n[[events]]",
    ),
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
    ("a flow with an unknown scheme's TCP", "to = \"mn\"\n", "to = \"mn\"\ntcp = \"sacc\"\n"),
    (
        "loss notification of a receiver without SACK",
        "to = \"mn\"\n",
        "to = \"mn\"\n[schemes.deaf]\nsender = \"sack\"\nreceiver = {profile = \"tahoe\", eln = true}\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n",
    ),
    ("an unknown key at the top", "duration =", "seed = 3\nduration ="),
    ("an unknown table", "[[events]]", "[[event]]"),
    ("a missing key", "delay = \"19ms\"\n", ""),
    ("a missing key of a flow", "to = \"mn\"\n", ""),
    ("no duration", "duration = \"30s\"\n", ""),
    ("no unit", "delay = \"19ms\"", "delay = \"19\""),
    ("a number without a unit", "delay = \"19ms\"", "delay = 19"),
    ("an unknown unit", "rate = \"20Mbit/s\"", "rate = \"20Mbps\""),
    ("a wrong type", "rate = \"20Mbit/s\"", "rate = true"),
    ("a queue that is none", "queue = \"100pkt\"", "queue = \"100\""),
    ("a queue without room", "queue = \"100pkt\"", "queue = \"1kB\""),
    ("a scheme that is no table", "[schemes.sack]", "[schemes]\nsack = \"sack\"\n[schemes.sick]"),
    ("flows that are no array", "[[flows]]", "[flows]"),
    ("an array for a table", "[schemes.sack]", "[schemes.sick]\nsender = [\"sack\"]\n[schemes.sack]"),
    ("words for a count", "queue = \"100pkt\"", "air = {standard = \"802.11g\", attempts = \"many\"}"),
    (
        "a queue of bytes on the air",
        "queue = \"100pkt\"",
        "queue = \"100kB\"\nair = {standard = \"802.11b\"}\nforward = {rate = \"11Mbit/s\"}\nbackward = {rate = \"11Mbit/s\"}",
    ),
    ("a rate that is none of 802.11", "queue = \"100pkt\"", "air = {standard = \"802.11g\"}"),
    ("an unknown standard", "queue = \"100pkt\"", "air = {standard = \"802.11n\"}"),
    (
        "a wire on the air",
        "between = [\"cn\", \"ap1\"]",
        "between = [\"cn\", \"ap1\"]\nair = {standard = \"802.11g\"}",
    ),
    ("no attempt at all", "queue = \"100pkt\"", "air = {standard = \"802.11g\", attempts = 0}"),
    ("a rate of zero", "rate = \"20Mbit/s\"", "rate = \"0Mbit/s\""),
    ("an impossible probability", "queue = \"100pkt\"", "loss = 1.5"),
    ("an unknown loss", "queue = \"100pkt\"", "loss = {bits = 1e-6}"),
    ("an incomplete loss", "queue = \"100pkt\"", "loss = [0.01, {gilbert-elliott = {good_to_bad = 0.1}}]"),
    ("a packet number of zero", "queue = \"100pkt\"", "loss = {list = [0, 3]}"),
    ("two losses in one table", "queue = \"100pkt\"", "loss = {bit = 1e-6, list = [3]}"),
    ("an unknown kind", "{kind = \"station\"}", "{kind = \"sation\"}"),
    ("an unknown node", "between = [\"ap1\", \"mn\"]", "between = [\"ap2\", \"mn\"]"),
    ("three ends", "between = [\"ap1\", \"mn\"]", "between = [\"ap1\", \"mn\", \"cn\"]"),
    ("a link to itself", "between = [\"ap1\", \"mn\"]", "between = [\"ap1\", \"ap1\"]"),
    ("two links of one name", "between = [\"cn\", \"ap1\"]", "name = \"radio\"\nbetween = [\"cn\", \"ap1\"]"),
    ("two nodes of one name", "mn = {kind", "cn = {kind"),
    ("a name that cannot be one", "name = \"radio\"", "name = \"the radio\""),
    ("a node without a link", "mn = {kind", "spare = {kind = \"host\"}\nmn = {kind"),
    ("a flow that cannot arrive", "{kind = \"ap\"", "{kind = \"host\""),
    ("a flow to a switch", "to = \"mn\"", "to = \"ap1\""),
    ("a flow to itself", "to = \"mn\"", "to = \"cn\""),
    ("an unknown application", "app = \"bulk\"", "app = \"bulck\""),
    ("a flow that starts too late", "app = \"bulk\"", "start = \"30s\""),
    ("a flow that stops first", "app = \"bulk\"", "start = \"5s\"\nstop = \"4s\""),
    ("no flow at all", "[[flows]]\nfrom = \"cn\"\nto = \"mn\"\napp = \"bulk\"\n", ""),
    ("a key of a handover", "link = \"radio\"", "link = \"radio\"\nstation = \"mn\""),
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
    ("a phase that is none", "gap = \"3s\"", "gap = \"3s\"\nphase = \"some\""),
    ("an unknown profile", "sender = \"sack\"", "sender = \"sackk\""),
    ("an unknown setting", "sender = \"sack\"", "sender = {profile = \"sack\", rto_minimum = \"1s\"}"),
    ("settings that contradict", "sender = \"sack\"", "sender = {profile = \"sack\", rto_max = \"100ms\"}"),
    ("settings of all that contradict", "[schemes.sack]", "[tcp]\nrto_max = \"100ms\"\n[schemes.sack]"),
    (
        "an integer out of bounds",
        "sender = \"sack\"",
        "sender = {profile = \"cubic\", cubic_beta_permille = 1000}",
    ),
    ("SACK without SACK", "sender = \"sack\"", "sender = {profile = \"sack\", sack = false}"),
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
    ("a request that is no rate", "sender = \"sack\"", "sender = {profile = \"sack\", quick_start = \"on\"}"),
    (
        "two ways to find a rate",
        "sender = \"sack\"",
        "sender = {profile = \"sack\", quick_start = \"access\", estimate = \"pair-chirp\"}",
    ),
    (
        "an agent at a name",
        "sender = \"sack\"",
        "sender = \"sack\"\nagents = [{kind = \"snoop\", at = \"ap1\"}]",
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
    ("no TOML", "duration = \"30s\"", "duration = 30s"),
    ("an open string", "duration = \"30s\"", "duration = \"30s"),
];

/// The same of the shipped file in which a station walks.
const WALKING: &[(&str, &str, &str)] = &[
    ("a station that moves from nowhere", "at = [15, 0], ", ""),
    ("a station that hears nobody", "at = [15, 0]", "at = [35, 0]"),
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
    ("an access point of who moves", "at = [15, 0], ", "at = [15, 0], ap = \"ap1\", "),
    ("no such channel", "channel = 6", "channel = 14"),
    ("a speed without its unit", "\"2m/s\"", "\"2\""),
    ("a length that is a duration", "\"33m\"", "\"33ms\""),
    ("an unknown movement", "{linear", "{spiral"),
    ("an unknown propagation", "\"two-ray-ground\"", "\"ether\""),
    ("an exponent out of bounds", "\"two-ray-ground\"", "{log-distance = {exponent = 0.5}}"),
    ("a height for a model without", "\"two-ray-ground\"", "\"free-space\"\nantenna_height = \"2m\""),
    ("no height", "\"two-ray-ground\"", "\"two-ray-ground\"\nantenna_height = \"0m\""),
    ("channels that are none", "\"two-ray-ground\"", "\"two-ray-ground\"\nchannels = []"),
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

/// The same of the base file in which a station roams.
const ROAMING: &[(&str, &str, &str)] = &[
    ("a handover without its gap", "gap = \"3s\"\n", ""),
    ("a handover with a direction", "gap = \"3s\"", "gap = \"3s\"\ndirection = \"forward\""),
    ("a handover that drains, and a gap", "gap = \"3s\"", "gap = \"3s\"\nmode = \"drain\""),
    ("a handover that waits", "gap = \"3s\"", "gap = \"3s\"\nmode = \"hold\""),
    (
        "a handover that never drains",
        "between = [\"ap2\", \"mn\"]\nrate = \"54Mbit/s\"\ndelay = \"1ms\"\n\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n\n[schemes.bare]\nsender = \"linux\"\nagents = [{kind = \"sdn\", at = \"role:controller\", policy = \"bare\"}]\n\n[[events]]\nat = \"10s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap2\"\ngap = \"3s\"",
        "between = [\"ap2\", \"mn\"]\nrate = \"54Mbit/s\"\ndelay = \"1ms\"\nqueue = \"unlimited\"\n[[flows]]\nfrom = \"cn\"\nto = \"mn\"\n[schemes.bare]\nsender = \"sack\"\n[[events]]\nat = \"10s\"\ndo = \"handover\"\nstation = \"mn\"\nto = \"ap2\"\nmode = \"drain\"",
    ),
    (
        "an agent in no station",
        "kind = \"sdn\", at = \"role:controller\", policy = \"bare\"",
        "kind = \"vho\", at = \"role:other\"",
    ),
    ("a key of a station's agent", "policy = \"bare\"", "policy = \"bare\", repeat = 2"),
    ("an unknown rule", "sender = \"linux\"", "sender = {profile = \"sack\", vho = [\"minrto\"]}"),
    ("a handover of a host", "station = \"mn\"", "station = \"cn\""),
    ("a handover of an unknown station", "station = \"mn\"", "station = \"mm\""),
    ("a handover to an unknown node", "to = \"ap2\"", "to = \"ap9\""),
    ("a handover to a switch", "to = \"ap2\"", "to = \"s1\""),
    ("late news that are not", "policy = \"bare\"", "policy = \"bare\", news = \"never\", late_by = \"1s\""),
    ("silence without failures", "policy = \"bare\"", "policy = \"bare\", tx_silence = \"1s\""),
    ("no failures", "policy = \"bare\"", "policy = \"bare\", tx_failures = 0"),
    ("a zero-window scheme without news", "policy = \"bare\"", "policy = \"zwa\", news = \"never\""),
    ("an unknown kind of news", "policy = \"bare\"", "policy = \"bare\", news = \"old\""),
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
    ("an unknown first access point", "mn = {kind = \"station\"", "mn = {kind = \"station\", ap = \"ap3\""),
    ("an access point of a host", "cn = {kind = \"host\"", "cn = {kind = \"host\", ap = \"ap1\""),
    ("two links to an access point", "between = [\"ap2\", \"mn\"]", "between = [\"ap1\", \"mn\"]"),
    ("a link to a controller", "between = [\"s1\", \"ap2\"]", "between = [\"ctl\", \"ap2\"]"),
    ("a flow from a controller", "from = \"cn\"", "from = \"ctl\""),
    (
        "a station that moves without air",
        "mn = {kind = \"station\"",
        "mn = {kind = \"station\", at = [0, 0], mobility = \"still\"",
    ),
    ("air for nobody", "[[flows]]", "[radio]\nlink = {rate = \"54Mbit/s\", delay = \"1ms\"}\n[[flows]]"),
    ("a channel of a station", "mn = {kind = \"station\"", "mn = {kind = \"station\", channel = 6"),
    ("a place that is none", "mn = {kind = \"station\"", "mn = {kind = \"station\", at = [0]"),
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
    ("a release of nothing", "policy = \"bare\"", "policy = \"bare\", release_burst = \"1kB\""),
];

/// What an override says, and to what.
const OVERRIDES: &[(&str, &str, &str)] = &[
    ("an unknown key", "links.radio.los", "0.01"),
    ("an unknown entry", "links.raido.loss", "0.01"),
    ("an entry out of range", "flows.3.app", "bulk"),
    ("a path through a value", "duration.seconds", "3"),
    ("a wrong value", "links.radio.rate", "20Mbps"),
    ("an open string", "name", "\"unfinished"),
    ("no path", "links..loss", "0.01"),
];

fn message(out: &mut String, what: &str, text: &str, overrides: &[(String, String)]) {
    let Err(error) = Scenario::parse(text, "base.toml", overrides) else { panic!("{what}: no error") };
    let (line, column, key) = (error.line, error.column, &error.key);
    write!(out, "# {what} (line {line}, column {column}, key `{key}`)\n{error}\n\n").unwrap();
    assert!(line >= 1 && line <= text.lines().count() + 1, "{what}: line {line}");
}

#[test]
fn messages() {
    let mut out = String::new();
    for (base, cases) in [(BASE, CASES), (ROAM, ROAMING), (WALK, WALKING)] {
        Scenario::parse(base, "base.toml", &[]).unwrap();
        for (what, old, new) in cases {
            assert!(base.contains(old), "{what}: the base file lacks {old}");
            message(&mut out, what, &base.replacen(old, new, 1), &[]);
        }
    }
    for &(what, path, value) in OVERRIDES {
        message(&mut out, &format!("--set, {what}"), BASE, &[(path.to_owned(), value.to_owned())]);
    }
    insta::assert_snapshot!(out);
}
