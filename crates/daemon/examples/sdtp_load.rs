//! All of a line of SDTP but one node, for `bench/sdtp_nodes.py`: hosts, the other nodes and the controller, in one process. It sends
//! frames to the node under test as fast as that one forwards them: so many wait for it and none is lost. One JSON object on standard
//! output says how many frames came out at the other end, and what processor time the node took for each.
#![forbid(unsafe_code)]

mod sdtp_line;
mod sdtp_load_parts;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use handfast_io::{BATCH, Clock, PacketSocket};
use handfast_wire::tcp::Flags;
use serde_json::json;

use sdtp_line::{FIRST, Frame, from_client, segment};
use sdtp_load_parts::{Processor, Rest, Role};

/// Load for a node of SDTP.
#[derive(Parser)]
struct Command {
    /// Which node is under test
    #[arg(long)]
    role: Role,
    /// Bytes of a frame of the hosts
    #[arg(long)]
    frame: usize,
    /// The interface that leads to the node, and the one to which it sends
    #[arg(long)]
    input: String,
    #[arg(long)]
    output: String,
    /// The node's process, and the processor that is its own
    #[arg(long)]
    pid: u32,
    #[arg(long)]
    processor: u32,
    /// Where the node looks for its controller
    #[arg(long, default_value = "127.0.0.1:6654")]
    listen: String,
    /// So many frames are on their way
    #[arg(long, default_value_t = 1024)]
    window: u64,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// Ethernet, IPv4 and TCP headers.
const HEADERS: usize = 54;
const WARM_UP: Duration = Duration::from_millis(300);
/// So long nothing comes out: what is on its way is lost.
const STALLED: Duration = Duration::from_millis(50);
const NAP: Duration = Duration::from_micros(100);

fn main() -> io::Result<()> {
    let command = Command::parse();
    let mut load = Load::new(&command)?;
    load.rest.connect(&command.listen)?;
    load.rest.open(&load.input, &load.output)?;
    load.run(WARM_UP)?;
    let (before, lost) = (Mark::now(&load)?, load.lost);
    load.run(Duration::from_secs_f64(command.seconds))?;
    let (after, lost) = (Mark::now(&load)?, load.lost - lost);
    let frames = after.out - before.out;
    let of = json!({
        "frames": frames, "lost": lost,
        "frames/s": frames as f64 / (after.at - before.at).as_secs_f64(),
        "ns": 1e9 * (after.spent - before.spent) / frames as f64,
    });
    println!("{of}");
    Ok(())
}

/// What was measured at a time.
struct Mark {
    at: Instant,
    out: u64,
    spent: f64,
}

impl Mark {
    fn now(load: &Load) -> io::Result<Self> {
        Ok(Self { at: Instant::now(), out: load.out()?, spent: load.processor.spent()? })
    }
}

/// What keeps the node busy.
struct Load {
    rest: Rest,
    input: PacketSocket,
    output: PacketSocket,
    /// The counter of the interface behind the node.
    counter: File,
    processor: Processor,
    payload: Bytes,
    seq: u32,
    window: u64,
    /// Frames that have been sent, and those that are not waited for any more.
    sent: u64,
    lost: u64,
    began: u64,
}

impl Load {
    fn new(command: &Command) -> io::Result<Self> {
        let path = format!("/sys/class/net/{}/statistics/rx_packets", command.output);
        let payload = command.frame.checked_sub(HEADERS).filter(|&len| len > 0);
        let payload = payload.ok_or_else(|| io::Error::other("the frame is too short"))?;
        Ok(Self {
            rest: Rest::new(command.role),
            input: PacketSocket::sender_by(&command.input)?,
            output: PacketSocket::sender_by(&command.output)?,
            counter: File::open(path)?,
            processor: Processor::new(command.pid, command.processor)?,
            payload: vec![0x5a; payload].into(),
            seq: FIRST,
            window: command.window,
            sent: 0,
            lost: 0,
            began: 0,
        })
    }

    /// Frames that have come out.
    fn out(&self) -> io::Result<u64> {
        let mut text = [0; 24];
        let len = self.counter.read_at(&mut text, 0)?;
        let text = String::from_utf8_lossy(&text[..len]);
        text.trim().parse().map_err(io::Error::other)
    }

    fn run(&mut self, time: Duration) -> io::Result<()> {
        (self.sent, self.began) = (0, self.out()? + self.lost);
        let (until, mut moved, mut last) = (Instant::now() + time, Instant::now(), self.began);
        while Instant::now() < until {
            let out = self.out()? + self.lost;
            if out != last {
                (moved, last) = (Instant::now(), out);
            }
            let on_the_way = (self.began + self.sent).saturating_sub(out);
            if on_the_way < self.window {
                self.send();
            } else if moved.elapsed() > STALLED {
                self.lost += on_the_way;
            } else {
                std::thread::sleep(NAP);
            }
        }
        // What is on its way comes out within this.
        std::thread::sleep(STALLED);
        Ok(())
    }

    fn send(&mut self) {
        let frames: Vec<Frame> = (0..BATCH).map(|_| self.data()).collect();
        let (forth, back) = self.rest.make(Clock::SYSTEM.now(), frames);
        self.sent += send(&self.input, &forth);
        send(&self.output, &back);
    }

    fn data(&mut self) -> Frame {
        let frame = from_client(segment(Flags::ACK, self.seq, 501, self.payload.clone()));
        self.seq = self.seq.wrapping_add(self.payload.len() as u32);
        frame
    }
}

/// Sends frames; how many were.
fn send(by: &PacketSocket, frames: &[Frame]) -> u64 {
    let mut refused = Vec::new();
    for frames in frames.chunks(BATCH) {
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        by.send_by_its_own(&frames, &mut refused);
    }
    (frames.len() - refused.len()) as u64
}
