//! Bare forwarding between two interfaces, for `bench/sdtp_nodes.py`: what the kernel and a copy cost, and no packet is looked at.
//!
//!     forward ONE OTHER METHOD
#![forbid(unsafe_code)]

use std::io;

use handfast_io::frame_io::{FrameIo, Method};
use handfast_io::{BATCH, EventLoop, offloads_off};

const USAGE: &str = "usage: forward ONE OTHER mmsg|ring|ring-xdp|xdp-native|xdp-generic";

fn main() -> io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [one, other, method] = given.as_slice() else {
        return Err(io::Error::other(USAGE));
    };
    let method = Method::ALL.into_iter().find(|of| of.name() == method);
    let method = method.ok_or_else(|| io::Error::other(USAGE))?;
    let mut events = EventLoop::new()?;
    let mut ends = [one, other].map(|name| {
        offloads_off(name)?;
        let io = FrameIo::open(name, method)?;
        let id = events.add_descriptor(&io)?;
        io::Result::Ok((id, io))
    });
    let [Ok(a), Ok(b)] = &mut ends else {
        return ends.into_iter().try_for_each(|end| end.map(|_| ()));
    };
    println!("ready");
    let mut buffer = Buffer::default();
    loop {
        events.wait(None)?;
        for id in events.take_readable() {
            let (from, to) = if id == a.0 { (&mut a.1, &mut b.1) } else { (&mut b.1, &mut a.1) };
            if from.receive(|arrival| arrival.frame.into_iter().for_each(|frame| buffer.push(frame)))? {
                events.read_again(id);
            }
            buffer.send(to);
        }
    }
}

/// Frames that leave, one behind the other.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    refused: Vec<(usize, io::Error)>,
}

impl Buffer {
    fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    fn send(&mut self, by: &mut FrameIo) {
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        let mut start = 0;
        for (frame, &end) in frames.iter_mut().zip(&self.ends) {
            *frame = &self.bytes[start..end];
            start = end;
        }
        by.send(&frames[..self.ends.len()], &mut self.refused);
        self.bytes.clear();
        self.ends.clear();
        self.refused.clear();
    }
}
