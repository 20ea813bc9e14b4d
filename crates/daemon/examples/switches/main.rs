//! Generated switches for `bench/controller.py`: they connect to an `OpenFlow` controller over TCP, send it packets of TCP
//! connections, and check what comes back. One JSON object on standard output says what was done.
//!
//! With `--association-socket` the controller is `handfastd`: stations leave, their segments are held, they come back, and each
//! segment has to come once and in order. Without, each new segment has to be answered at once.
#![forbid(unsafe_code)]

mod ledger;
mod station_events;
mod switches;
mod traffic;
mod work;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use work::Work;

/// Generated switches that keep an `OpenFlow` controller busy.
#[derive(Parser)]
struct Command {
    /// Where the controller listens
    #[arg(long)]
    connect: SocketAddr,
    /// The association socket of `handfastd`; without it each new segment has to be answered at once
    #[arg(long)]
    association_socket: Option<PathBuf>,
    /// How many switches; their datapath ids count from 1, each has an access point `apN`
    #[arg(long, default_value_t = 4)]
    switches: u32,
    /// How many stations
    #[arg(long, default_value_t = 100)]
    stations: u32,
    /// TCP connections of each station
    #[arg(long, default_value_t = 50)]
    connections: u32,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// As many packet-ins as the controller takes
    Rate {
        /// New segments of each connection in a round
        #[arg(long, default_value_t = 18)]
        segments: u32,
        /// How many of them come a second time
        #[arg(long, default_value_t = 2)]
        repeated: u32,
        /// How often all stations leave and come back
        #[arg(long, default_value_t = 1)]
        rounds: u32,
    },
    /// From a packet-in to its packet-out, one at a time; with `--association-socket` of stations in release
    Latency {
        /// How many are measured
        #[arg(long, default_value_t = 2000)]
        packets: u32,
        /// Microseconds between two of them
        #[arg(long, default_value_t = 2000)]
        interval_us: u64,
    },
    /// Opens connections, and leaves it at that; with `--segments` something is held for each
    Open {
        /// Segments of each connection that are held at the end
        #[arg(long, default_value_t = 0)]
        segments: u32,
    },
}

fn main() -> ExitCode {
    let Command { connect, association_socket, switches, stations, connections, what } = Command::parse();
    let work = Work::start(connect, association_socket.as_deref(), switches, stations, connections);
    let done = work.and_then(|work| match what {
        What::Rate { segments, repeated, rounds } => work.rate(segments, repeated, rounds),
        What::Latency { packets, interval_us } => work.latency(packets, interval_us),
        What::Open { segments } => work.open(segments),
    });
    match done {
        Ok(facts) => {
            println!("{facts}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
