//! A wire between two interfaces, for `bench/roaming`: a rate, a delay and a queue, by the packet loop of the lab's runs.
//!
//!     wire HUB CLIENT SERVER 160Mbit/s 20ms 600pkt
//!
//! HUB, CLIENT and SERVER are network namespaces. Each host has an interface `wire`, whose other end is `client` or
//! `server` in HUB. It runs until it is killed.
#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::atomic::AtomicBool;

use handfast_lab::{Clock, LoopOptions, Netns, PacketLoop, offloads_off};
use handfast_plan::timeline::Timeline;
use handfast_scenario::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [hub, client, server, rate, delay, queue] = given.as_slice() else {
        return Err("usage: wire HUB CLIENT SERVER RATE DELAY QUEUE, such as 160Mbit/s 20ms 600pkt".into());
    };
    let text = format!(
        r#"
        duration = "1s"
        [nodes]
        client = {{kind = "host"}}
        server = {{kind = "host"}}
        [[links]]
        name = "wire"
        between = ["client", "server"]
        rate = "{rate}"
        delay = "{delay}"
        queue = "{queue}"
        [[flows]]
        from = "server"
        to = "client"
        app = "bulk"
        "#
    );
    let scenario = Scenario::parse(&text, "wire.toml", &[])?;
    for host in [client, server] {
        let _there = Netns::open(host)?.enter()?;
        offloads_off("wire")?;
    }
    let options = LoopOptions { seed: 1, sample_every: None };
    let ends = [["client", "server"].map(str::to_owned)];
    let _there = Netns::open(hub)?.enter()?;
    let wire = PacketLoop::new(&scenario, Timeline::default(), &ends, &options)?;
    println!("ready");
    wire.run(Clock::start(), &AtomicBool::new(false))?;
    Ok(())
}
