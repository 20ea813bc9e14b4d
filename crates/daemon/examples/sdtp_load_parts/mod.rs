//! The other nodes and the controller of `sdtp_load`, and the processor time of the node under test.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use clap::ValueEnum;
use handfast_assist::sdtp::bump::{Bump, Side};
use handfast_assist::sdtp::{Config, Controller, Instructions, Report};
use handfast_core::Instant as Time;
use handfast_io::{Clock, PacketSocket};
use handfast_wire::openflow::{Body, Hello, Message, VERSION};
use nix::unistd::{SysconfVar, sysconf};

use crate::sdtp_line::{Frame, bump, controller, edge, handshake};
use crate::send;

/// Which node is under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// None: frames are forwarded.
    None,
    Sending,
    Caching,
    Receiving,
}

impl Role {
    fn number(self) -> Option<usize> {
        [Self::Sending, Self::Caching, Self::Receiving].into_iter().position(|role| role == self)
    }
}

/// How long each step of a handshake may take.
const STEP: Duration = Duration::from_millis(200);
const READ: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(10);
/// Of the core: the longest frame of a host is converted too.
const MTU: u16 = 1620;

/// All but the node under test.
pub(crate) struct Rest {
    role: Role,
    /// The one under test is among them, and does nothing.
    bumps: [Bump; 3],
    controller: Controller,
    channel: Option<TcpStream>,
    incoming: BytesMut,
}

impl Rest {
    pub(crate) fn new(role: Role) -> Self {
        let config = Config { mtu: MTU, ..Config::default() };
        let bumps = [0, 1, 2].map(|number| bump(number, &config));
        Self { role, bumps, controller: controller(), channel: None, incoming: BytesMut::new() }
    }

    /// Waits for the node.
    pub(crate) fn connect(&mut self, listen: &str) -> io::Result<()> {
        if self.role == Role::None {
            return Ok(());
        }
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let until = Instant::now() + PATIENCE;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => std::thread::sleep(READ),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(READ))?;
        self.channel = Some(stream);
        self.say(Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }), 0)?;
        self.say(Body::FeaturesRequest, 0)?;
        self.talk()
    }

    fn say(&mut self, body: Body, xid: u32) -> io::Result<()> {
        let mut bytes = Vec::new();
        Message { xid, body }.emit(&mut bytes).map_err(|_| io::Error::other("no message"))?;
        self.channel.as_mut().map_or(Ok(()), |channel| channel.write_all(&bytes))
    }

    /// The handshake of the hosts' connection.
    pub(crate) fn open(&mut self, input: &PacketSocket, output: &PacketSocket) -> io::Result<()> {
        let Some(number) = self.role.number() else { return Ok(()) };
        let [syn, answer] = handshake();
        for (at, frame, by) in [(0, syn, input), (2, answer, output)] {
            if at == number {
                send(by, &[frame]);
            } else {
                self.bumps[at].on_frame(Clock::SYSTEM.now(), Side::Inside, &frame);
            }
            self.talk()?;
        }
        self.bumps.iter_mut().for_each(|bump| bump.emitted().clear());
        Ok(())
    }

    /// Nodes and controller talk for a while.
    fn talk(&mut self) -> io::Result<()> {
        let until = Instant::now() + STEP;
        while Instant::now() < until {
            self.listen()?;
            let mut instructions = Instructions::new();
            for number in (0..3).filter(|&number| Some(number) != self.role.number()) {
                for report in self.bumps[number].reports().collect::<Vec<_>>() {
                    self.controller.on_report(edge(number), report, &mut instructions);
                }
            }
            self.deliver(instructions)?;
        }
        Ok(())
    }

    fn deliver(&mut self, instructions: Instructions) -> io::Result<()> {
        for (to, instruction) in instructions {
            let Some(number) = (0..3).find(|&number| edge(number) == to) else { continue };
            if Some(number) != self.role.number() {
                self.bumps[number].on_instruction(Clock::SYSTEM.now(), instruction);
            } else if let (Some(channel), Some(bytes)) = (&mut self.channel, instruction.emit()) {
                channel.write_all(&bytes)?;
            }
        }
        Ok(())
    }

    /// Reads what the node under test says.
    fn listen(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        let Some(channel) = &mut self.channel else { return Ok(()) };
        match channel.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => self.incoming.extend_from_slice(&chunk[..len]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let wrong = |_| io::Error::other("not OpenFlow");
        while let Some(len) = Message::framed_len(&self.incoming).map_err(wrong)? {
            let bytes = self.incoming.split_to(len).freeze();
            self.hear(&bytes)?;
        }
        Ok(())
    }

    fn hear(&mut self, bytes: &Bytes) -> io::Result<()> {
        let message = Message::parse(bytes).map_err(|_| io::Error::other("not OpenFlow"))?;
        if let Body::EchoRequest(data) = message.body {
            return self.say(Body::EchoReply(data), message.xid);
        }
        let Some((report, number)) = Report::parse(bytes).ok().zip(self.role.number()) else { return Ok(()) };
        let mut instructions = Instructions::new();
        self.controller.on_report(edge(number), report, &mut instructions);
        self.deliver(instructions)
    }

    /// What comes to the node under test when a host has sent these: from upstream, and from downstream.
    pub(crate) fn make(&mut self, now: Time, frames: Vec<Frame>) -> (Vec<Frame>, Vec<Frame>) {
        // The node asks whether its controller is there. A read would wait.
        if matches!(self.role, Role::None | Role::Sending) {
            return (frames, Vec::new());
        }
        for frame in &frames {
            self.bumps[0].on_frame(now, Side::Inside, frame);
        }
        let forth = take(&mut self.bumps[0], Side::Outside);
        if self.role == Role::Receiving {
            return (forth, Vec::new());
        }
        // The receiving edge says what has arrived, so that caches let it go.
        for frame in &forth {
            self.bumps[2].on_frame(now, Side::Outside, frame);
        }
        if self.bumps[2].deadline().is_some_and(|due| due <= now) {
            self.bumps[2].on_timer(now);
        }
        let back = take(&mut self.bumps[2], Side::Outside);
        (forth, back)
    }
}

fn take(from: &mut Bump, by: Side) -> Vec<Frame> {
    let leaving = from.emitted().frames().filter(|(side, _)| *side == by);
    let frames = leaving.map(|(_, frame)| frame.to_vec()).collect();
    from.emitted().clear();
    frames
}

/// Of a process, and what the kernel does in its stead on a processor.
pub(crate) struct Processor {
    paths: Vec<String>,
    ticks: f64,
}

impl Processor {
    pub(crate) fn new(process: u32, processor: u32) -> io::Result<Self> {
        let softirqs = format!("ksoftirqd/{processor}");
        let mut paths = vec![format!("/proc/{process}/stat")];
        for entry in std::fs::read_dir("/proc")? {
            let path = entry?.path();
            if std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == softirqs) {
                paths.push(path.join("stat").display().to_string());
            }
        }
        let ticks = sysconf(SysconfVar::CLK_TCK)?.ok_or_else(|| io::Error::other("no ticks"))?;
        Ok(Self { paths, ticks: ticks as f64 })
    }

    /// Seconds.
    pub(crate) fn spent(&self) -> io::Result<f64> {
        let mut ticks = 0;
        for path in &self.paths {
            let text = std::fs::read_to_string(path)?;
            // proc_pid_stat(5): the 14th and 15th, the second one in brackets.
            let after = text.rsplit(") ").next().unwrap_or_default();
            ticks +=
                after.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
        }
        Ok(ticks as f64 / self.ticks)
    }
}
