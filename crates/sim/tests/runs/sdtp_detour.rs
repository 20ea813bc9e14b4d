//! SDTP's controller deploys a new path when a link is gone ([sdtp] §III-A step 3).

use std::fmt::Write;

use handfast_sim::RunResult;

use crate::support::{result, scenario};

/// From s1 to s4 there are a short way by s2 and a long one by s3. A link of the short way is down from `at` for `gap`.
fn network(at: &str, gap: &str) -> String {
    let mut text = String::from(
        "duration = \"20s\"\n[nodes]\na = {kind = \"host\"}\nb = {kind = \"host\"}\ns1 = {kind = \"switch\"}\n\
         s2 = {kind = \"switch\"}\ns3 = {kind = \"switch\"}\ns4 = {kind = \"switch\"}\n\
         ctl = {kind = \"controller\", role = \"controller\"}\n",
    );
    for (from, to, ms) in
        [("a", "s1", 5), ("s1", "s2", 5), ("s2", "s4", 5), ("s1", "s3", 10), ("s3", "s4", 10), ("s4", "b", 5)]
    {
        let ends = format!("name = \"{from}-{to}\"\nbetween = [\"{from}\", \"{to}\"]");
        let rate = "rate = \"10Mbit/s\"";
        writeln!(text, "[[links]]\n{ends}\n{rate}\ndelay = \"{ms}ms\"").unwrap();
    }
    let agents = "agents = [{kind = \"sdtp\", at = \"role:controller\"}]";
    text + &format!(
        "[[flows]]\nfrom = \"a\"\nto = \"b\"\napp = {{transfer = \"2MB\"}}\nstart = \"1s\"\n\
         [[events]]\nlink = \"s2-s4\"\ndo = \"outage\"\nat = \"{at}\"\ngap = \"{gap}\"\n\
         [schemes.linux]\nsender = \"linux\"\n[schemes.sdtp]\nsender = \"linux\"\n{agents}\n"
    )
}

fn run(at: &str, gap: &str, scheme: &str) -> RunResult {
    result(&scenario(&network(at, gap)), scheme, 1)
}

fn delivered(run: &RunResult) -> u64 {
    run.flows[0].metrics.delivered_bytes().unwrap()
}

fn paths(run: &RunResult) -> u64 {
    run.controller.as_ref().unwrap()["controller_paths"]
}

#[test]
fn a_connection_that_begins_goes_around_a_link_that_is_down() {
    let (around, plain) = (run("0.5s", "19s", "sdtp"), run("0.5s", "19s", "linux"));
    assert_eq!((delivered(&around), delivered(&plain)), (2_000_000, 0));
    assert_eq!(paths(&around), 2, "around, and back when the link comes again at the end");
}

#[test]
fn a_connection_moves_when_its_link_goes_and_back_when_it_comes() {
    let (moved, plain) = (run("1.5s", "1s", "sdtp"), run("1.5s", "1s", "linux"));
    assert_eq!((delivered(&moved), delivered(&plain)), (2_000_000, 2_000_000));
    assert_eq!(paths(&moved), 3, "set up, around, and back");
    let took = |run: &RunResult| run.flows[0].end_s.unwrap() - run.flows[0].start_s.unwrap();
    // 2 MB take 1.7 s at 10 Mbit/s. Plain TCP waits for the link, SDTP for a retransmission timer at most.
    assert!(took(&moved) < 2.4, "{}", took(&moved));
    assert!(took(&plain) > took(&moved) + 0.4, "{}", took(&plain));
}
