//! What a packet costs at nodes of SDTP, in memory, for `bench/sdtp_nodes.py`: a sending edge, a caching node and a receiving edge, as
//! `handfastd sdtp` runs them, without its system calls. One JSON object on standard output says nanoseconds of processor time.
#![forbid(unsafe_code)]

mod sdtp_line;

use bytes::Bytes;
use clap::Parser;
use handfast_assist::sdtp::bump::{Bump, Side};
use handfast_assist::sdtp::{Config, Controller, Instructions};
use handfast_core::{Duration, Instant};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;

use sdtp_line::{FIRST, Frame, bump, controller, edge, from_client, handshake, segment};

/// Costs of nodes of SDTP.
#[derive(Parser)]
struct Command {
    /// Bytes of payload in each packet
    #[arg(long)]
    payload: usize,
    /// How many packets
    #[arg(long, default_value_t = 1_000_000)]
    packets: u32,
}

/// Packets of one round; then the nodes tell one another what has arrived, as they do every 50 ms.
const ROUND: u32 = 1000;
const SPACING: Duration = Duration::from_micros(20);
/// Three nodes and their controller.
struct Line {
    bumps: [Bump; 3],
    controller: Controller,
    now: Instant,
}

fn main() {
    let Command { payload, packets } = Command::parse();
    let mut line = Line::new();
    line.open();
    let payload = Bytes::from(vec![0x5a; payload]);
    let (mut seq, mut spent, mut rounds) = (FIRST, [0_i64; 4], 0_u32);
    while rounds * ROUND < packets {
        let frames: Vec<Frame> = (0..ROUND).map(|_| data(&mut seq, &payload)).collect();
        // What no node wants, for comparison.
        spent[3] += time(|| line.pass_plain(&frames));
        let frames = line.stage(0, Side::Inside, &frames, &mut spent[0]);
        let frames = line.stage(1, Side::Inside, &frames, &mut spent[1]);
        let frames = line.stage(2, Side::Outside, &frames, &mut spent[2]);
        assert_eq!(frames.len(), ROUND as usize, "all arrive");
        line.settle(&mut spent);
        rounds += 1;
    }
    let each = |spent: i64| (spent * 1000) as f64 / f64::from(rounds * ROUND);
    let [sending, caching, receiving, plain] = spent.map(each);
    let of = json!({
        "payload": payload.len(), "packets": rounds * ROUND,
        "ns": {"sending edge": sending, "caching node": caching, "receiving edge": receiving, "a frame that passes": plain},
    });
    println!("{of}");
}

/// Microseconds of processor time that something takes.
fn time(work: impl FnOnce()) -> i64 {
    let before = processor();
    work();
    processor() - before
}

fn processor() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap_or_else(|error| panic!("getrusage: {error}"));
    usage.user_time().num_microseconds() + usage.system_time().num_microseconds()
}

fn data(seq: &mut u32, payload: &Bytes) -> Frame {
    let timestamps = Some(Timestamps { val: *seq, ecr: 501 });
    let frame = from_client(Segment { timestamps, ..segment(Flags::ACK, *seq, 501, payload.clone()) });
    *seq = seq.wrapping_add(payload.len() as u32);
    frame
}

impl Line {
    fn new() -> Self {
        let config = Config::default();
        let bumps = [0, 1, 2].map(|number| bump(number, &config));
        Self { bumps, controller: controller(), now: Instant::from_millis(1000) }
    }

    /// The handshake.
    fn open(&mut self) {
        let [syn, answer] = handshake();
        self.bumps[0].on_frame(self.now, Side::Inside, &syn);
        self.control();
        self.bumps[2].on_frame(self.now, Side::Inside, &answer);
        self.control();
        self.bumps.iter_mut().for_each(|bump| bump.emitted().clear());
    }

    fn control(&mut self) {
        let mut instructions = Instructions::new();
        for number in 0..3 {
            for report in self.bumps[number].reports().collect::<Vec<_>>() {
                self.controller.on_report(edge(number), report, &mut instructions);
            }
        }
        for (to, instruction) in instructions {
            let number = (0..3).find(|&number| edge(number) == to).unwrap_or(0);
            self.bumps[number].on_instruction(self.now, instruction);
        }
    }

    /// All frames of a round at one node; those that leave it downstream.
    fn stage(&mut self, number: usize, side: Side, frames: &[Frame], spent: &mut i64) -> Vec<Frame> {
        let (bump, mut now) = (&mut self.bumps[number], self.now);
        *spent += time(|| {
            for frame in frames {
                now += SPACING;
                bump.on_frame(now, side, frame);
            }
        });
        self.take(number, if side == Side::Inside { Side::Outside } else { Side::Inside })
    }

    fn take(&mut self, number: usize, wanted: Side) -> Vec<Frame> {
        let emitted = self.bumps[number].emitted();
        let frames = emitted.frames().filter(|(side, _)| *side == wanted);
        let frames = frames.map(|(_, frame)| frame.to_vec()).collect();
        emitted.clear();
        frames
    }

    /// Frames that no node wants: those of hosts at a node without any.
    fn pass_plain(&mut self, frames: &[Frame]) {
        for frame in frames {
            self.bumps[1].on_frame(self.now, Side::Inside, frame);
        }
        self.bumps[1].emitted().clear();
    }

    /// 60 ms pass: CNs go upstream, and caches release what has arrived.
    fn settle(&mut self, spent: &mut [i64; 4]) {
        self.now += SPACING * u64::from(ROUND) + Duration::from_millis(60);
        for number in [2, 1, 0] {
            let (bump, now) = (&mut self.bumps[number], self.now);
            let stage = [0, 1, 2][number];
            spent[stage] += time(|| bump.on_timer(now));
            if number == 2 {
                let back = self.take(2, Side::Outside);
                drop(self.stage(1, Side::Outside, &back, &mut spent[1]));
            }
            self.bumps[number].emitted().clear();
        }
    }
}
