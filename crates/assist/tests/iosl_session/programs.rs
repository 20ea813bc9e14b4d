//! The programs at both ends, which check each octet.

use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::session::{Event, Kept, Read};
use handfast_core::{Duration, Instant};

use crate::world::{CLIENT, SERVER, World};

/// A program at one end of a session: writes so many octets, checks what it reads.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) socket: Option<Socket>,
    seed: u64,
    pub(crate) length: u64,
    pub(crate) written: u64,
    /// The same before its end had to begin again from what the peer has.
    most_written: u64,
    /// Of that, what its kernel has forgotten, since the peer has it.
    pub(crate) forgotten: u64,
    forgotten_before: u64,
    pub(crate) read: u64,
    /// How much it reads at a time, and how long it waits then.
    appetite: (usize, Duration),
    pub(crate) reads_at: Option<Instant>,
    pub(crate) has_finished: bool,
    pub(crate) has_end: bool,
    pub(crate) is_done: bool,
    pub(crate) failed: Option<(Reason, Instant)>,
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) resumed: u32,
}

impl Program {
    pub(crate) fn new(seed: u64, length: u64, appetite: (usize, Duration)) -> Self {
        Self {
            socket: None,
            seed,
            length,
            written: 0,
            most_written: 0,
            forgotten: 0,
            forgotten_before: 0,
            read: 0,
            appetite,
            reads_at: None,
            has_finished: false,
            has_end: false,
            is_done: false,
            failed: None,
            datagrams: Vec::new(),
            resumed: 0,
        }
    }

    /// What the kernel knows of its connection, and how it goes on for the next process: what that has not forgotten comes again.
    /// The last process may not have come to forget what the peer had.
    pub(crate) fn kept(&mut self, how: u8) -> Kept {
        let taken = if how.is_multiple_of(2) { self.forgotten } else { self.forgotten_before };
        // The kernel has more of the program than the process has seen.
        let written = (self.most_written + u64::from(how) * 300).min(self.length);
        self.most_written = written;
        (self.forgotten, self.forgotten_before, self.written) = (taken, taken, taken);
        let has_finished = written == self.length;
        Kept { taken, written, has_finished, given: self.read, is_told: self.has_end }
    }

    /// Whether it has got all and given all, or knows that it will not.
    pub(crate) fn is_over(&self) -> bool {
        self.failed.is_some() || self.is_done && self.has_end
    }
}

/// The octet at an offset of the stream of a program.
fn octet(seed: u64, offset: u64) -> u8 {
    let mixed = (offset ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u8
}

impl World {
    pub(crate) fn on_event(&mut self, end: usize, socket: Socket, event: Event) {
        if event == Event::Opened && end == SERVER {
            let port = self.ends[end].target(socket).unwrap().0.port();
            self.know(end, socket, usize::from(port - 1_000));
        }
        let Some(&number) = self.by_socket.get(&(end, socket)) else { return };
        match event {
            Event::Opened | Event::Writable => self.write(end, number),
            Event::Readable => self.read(end, number),
            Event::Done => self.programs[number][end].is_done = true,
            Event::Failed(reason) => self.programs[number][end].failed = Some((reason, self.now)),
            Event::Resumed { .. } => self.programs[number][end].resumed += 1,
            Event::Datagram => {
                while let Some(datagram) = self.ends[end].receive_datagram(socket) {
                    self.programs[number][end].datagrams.push(datagram.to_vec());
                }
            }
        }
    }

    pub(crate) fn write(&mut self, end: usize, number: usize) {
        let program = &mut self.programs[number][end];
        let Some(socket) = program.socket.filter(|_| !program.has_finished) else { return };
        if let Some([acked, written]) = self.ends[end].written(socket) {
            program.forgotten_before = std::mem::replace(&mut program.forgotten, acked);
            program.written = written;
        }
        loop {
            let len = (program.length - program.written).min(3_000);
            let octets: Vec<u8> = (0..len).map(|at| octet(program.seed, program.written + at)).collect();
            if len == 0 {
                program.has_finished = true;
                self.ends[end].finish(self.now, socket);
                return;
            }
            let Ok(taken) = self.ends[end].write(self.now, socket, &octets) else { return };
            program.written += taken as u64;
            program.most_written = program.most_written.max(program.written);
            if (taken as u64) < len {
                return;
            }
        }
    }

    pub(crate) fn read(&mut self, end: usize, number: usize) {
        let [one, other] = &mut self.programs[number];
        let (program, writer) = if end == CLIENT { (one, other) } else { (other, one) };
        let Some(socket) = program.socket.filter(|_| program.reads_at.is_none()) else { return };
        match self.ends[end].read(self.now, socket, program.appetite.0) {
            Ok(Read::Octets(octets)) => {
                for (at, &got) in (program.read..).zip(&octets) {
                    assert_eq!(got, octet(writer.seed, at), "octet {at} of program {number} at end {end}");
                }
                program.read += octets.len() as u64;
                assert!(program.read <= writer.most_written, "more than was written");
                program.reads_at = Some(self.now + program.appetite.1);
            }
            Ok(Read::End) => {
                assert!(!program.has_end || program.read == writer.length);
                assert_eq!(program.read, writer.length, "the end came early");
                program.has_end = true;
            }
            Ok(Read::Nothing) | Err(_) => {}
        }
    }
}
