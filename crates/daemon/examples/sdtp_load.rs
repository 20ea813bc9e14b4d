//! All of a line of SDTP but one node, for `bench/sdtp_nodes.py`: hosts, the other nodes and the controller, in one process. It stops
//! the node under test, has frames wait for it, and lets it go on until all have come out at the other end: so the node always has
//! enough to do, however slow the rest is. One JSON object on standard output says what processor time it took for each frame.
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
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
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
    /// So many frames wait for the node before it goes on
    #[arg(long, default_value_t = 2048)]
    window: u64,
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// Ethernet, IPv4 and TCP headers.
const HEADERS: usize = 54;
const WARM_UP: Duration = Duration::from_millis(300);
/// So long nothing comes out: what is on its way is lost.
const STALLED: Duration = Duration::from_secs(1);
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
        "frames": frames, "lost": lost, "ns": 1e9 * (after.spent - before.spent) / frames as f64,
    });
    println!("{of}");
    Ok(())
}

/// What was measured at a time.
struct Mark {
    out: u64,
    spent: f64,
}

impl Mark {
    fn now(load: &Load) -> io::Result<Self> {
        Ok(Self { out: load.out()?, spent: load.processor.spent()? })
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
    /// Frames that are not waited for any more.
    lost: u64,
    node: Pid,
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
            lost: 0,
            node: Pid::from_raw(command.pid as i32),
        })
    }

    /// Frames that have come out.
    fn out(&self) -> io::Result<u64> {
        let mut text = [0; 24];
        let len = self.counter.read_at(&mut text, 0)?;
        let text = String::from_utf8_lossy(&text[..len]);
        text.trim().parse().map_err(io::Error::other)
    }

    /// Again and again: frames gather while the node is stopped, and then it forwards them all.
    fn run(&mut self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let began = self.out()?;
            self.stop(true)?;
            let mut sent = 0;
            while sent < self.window {
                sent += self.send();
            }
            self.stop(false)?;
            self.wait_for(began + sent)?;
        }
        Ok(())
    }

    fn stop(&self, is_to_stop: bool) -> io::Result<()> {
        let signal = if is_to_stop { Signal::SIGSTOP } else { Signal::SIGCONT };
        kill(self.node, signal).map_err(io::Error::from)
    }

    fn wait_for(&mut self, all: u64) -> io::Result<()> {
        let (mut moved, mut last) = (Instant::now(), 0);
        loop {
            let out = self.out()?;
            if out >= all {
                return Ok(());
            }
            if out != last {
                (moved, last) = (Instant::now(), out);
            } else if moved.elapsed() > STALLED {
                self.lost += all - out;
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
    }

    fn send(&mut self) -> u64 {
        let frames: Vec<Frame> = (0..BATCH).map(|_| self.data()).collect();
        let (forth, back) = self.rest.make(Clock::SYSTEM.now(), frames);
        send(&self.output, &back);
        send(&self.input, &forth)
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
