//! Links in tandem have no event between them; where somebody looks they have, and nothing else may differ.

use crate::support::{bytes, scenario};
use handfast_sim::Options;
use std::fmt::Write;

/// Two servers behind one router, a chain of links with room for few packets each, and two clients behind its end: one by
/// a link with losses, the other by a narrow one. Tandems are the chain in both directions.
fn chain(first: &str, second: &str, flows: &[&str]) -> String {
    let mut text = r#"
duration = "3217ms"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
r1 = {kind = "switch"}
r2 = {kind = "switch"}
r3 = {kind = "switch"}
c = {kind = "host"}
d = {kind = "host"}
"#
    .to_owned();
    for (ends, more) in [
        ("\"a\", \"r1\"", "rate = \"100Mbit/s\"\ndelay = \"1ms\""),
        ("\"b\", \"r1\"", "rate = \"100Mbit/s\"\ndelay = \"3ms\""),
        ("\"r1\", \"r2\"", first),
        ("\"r2\", \"r3\"", second),
        ("\"r3\", \"c\"", "rate = \"9Mbit/s\"\ndelay = \"2ms\"\nqueue = \"30pkt\"\nloss = 3e-3"),
        ("\"r3\", \"d\"", "rate = \"4Mbit/s\"\ndelay = \"2ms\"\nqueue = \"6kB\""),
    ] {
        writeln!(text, "[[links]]\nbetween = [{ends}]\n{more}").unwrap();
    }
    for flow in flows {
        writeln!(text, "[[flows]]\n{flow}").unwrap();
    }
    text
}

const DOWN: &str = "from = \"a\"\nto = \"c\"";
const BESIDE: &str = "from = \"b\"\nto = \"d\"\nstart = \"100ms\"";
const UP: &str = "from = \"c\"\nto = \"b\"\nstart = \"200ms\"";
const SHORT: &str = "from = \"b\"\nto = \"c\"\napp = {transfer = \"300kB\"}\nstart = \"1s\"";

#[test]
fn who_looks_sees_the_same() {
    let fast = "rate = \"20Mbit/s\"\ndelay = \"5ms\"\nqueue = \"20pkt\"";
    let slow = "rate = \"7Mbit/s\"\ndelay = \"4ms\"\nqueue = \"12pkt\"";
    let bytes_queue = "rate = \"7Mbit/s\"\ndelay = \"4ms\"\nqueue = \"9kB\"";
    let outage = "[[events]]\nat = \"1s\"\ndo = \"outage\"\nlink = \"r2-r3\"\ngap = \"300ms\"";
    for (first, second) in [(fast, slow), (slow, fast), (fast, bytes_queue), (bytes_queue, fast)] {
        for flows in [&[DOWN][..], &[DOWN, BESIDE], &[DOWN, BESIDE, UP, SHORT]] {
            for event in ["", outage] {
                let named = format!("{second}\nname = \"r2-r3\"");
                let scenario = scenario(&format!("{}\n{event}", chain(first, &named, flows)));
                for seed in 1..4 {
                    let plain = Options { seed, ..Options::default() };
                    let (result, _) = bytes(&scenario, "sack", &plain);
                    let wired = Options { verify_wire: true, ..plain.clone() };
                    assert_eq!(
                        result,
                        bytes(&scenario, "sack", &wired).0,
                        "{first} {second} {flows:?} {event}"
                    );
                    let sampled = Options { series: true, ..plain };
                    assert_eq!(
                        result,
                        bytes(&scenario, "sack", &sampled).0,
                        "{first} {second} {flows:?} {event}"
                    );
                }
            }
        }
    }
}

/// Whole windows land at one nanosecond, in the order in which they were sent.
#[test]
fn what_lands_at_the_same_time_keeps_its_order() {
    let text = r#"
        duration = "3s"
        [nodes]
        a = {kind = "host"}
        b = {kind = "host"}
        r = {kind = "switch"}
        c = {kind = "host"}
        [[links]]
        between = ["a", "r"]
        rate = "30000Gbit/s"
        delay = "1ms"
        [[links]]
        between = ["b", "r"]
        rate = "30000Gbit/s"
        delay = "1ms"
        [[links]]
        between = ["r", "c"]
        rate = "7Mbit/s"
        delay = "9ms"
        queue = "20pkt"
        [[flows]]
        from = "a"
        to = "c"
        [[flows]]
        from = "b"
        to = "c"
    "#;
    let scenario = scenario(text);
    let plain = Options { seed: 1, ..Options::default() };
    let wired = Options { verify_wire: true, ..plain.clone() };
    assert_eq!(bytes(&scenario, "sack", &plain).0, bytes(&scenario, "sack", &wired).0);
}
