//! Packet-in to packet-out through a controller, from generated switches: how many a second, and how long one takes.
//!
//!     cargo run --profile wheel -p handfast-daemon --example packet_ins -- ADDRESS SECONDS SWITCHES [SOCKET]
//!
//! With SOCKET, the daemon's association socket, each switch has a station that has just come back: every frame is
//! parsed, looked up, held and released. The daemon's file has `ap1` at switch 1, `ap2` at switch 2 and so on, and `mode = "act"`,
//! `release = "unpaced"`, `hold_expiry = "600s"`, `settle = "600s"`. Without SOCKET any controller will do that answers each packet-in with one packet-out.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use std::{env, thread};

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::openflow::{
    Body, FeaturesReply, Hello, Match, Message, NO_BUFFER, PacketIn, PacketInReason, VERSION,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet, Payload};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Packet-ins of one switch that may be unanswered: enough to keep the controller busy.
const WINDOW: usize = 256;

struct Switch {
    stream: TcpStream,
    incoming: Vec<u8>,
    at: usize,
    station: [u8; 6],
    cookie: u64,
    seq: u32,
}

impl Switch {
    fn send(&mut self, xid: u32, body: Body) -> Outcome<()> {
        let mut bytes = Vec::new();
        Message { xid, body }.emit(&mut bytes)?;
        Ok(self.stream.write_all(&bytes)?)
    }

    /// The next message's bytes.
    fn receive(&mut self) -> Outcome<&[u8]> {
        loop {
            if let Some(len) = Message::framed_len(&self.incoming[self.at..])? {
                self.at += len;
                return Ok(&self.incoming[self.at - len..self.at]);
            }
            self.incoming.drain(..self.at);
            self.at = 0;
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk)? {
                0 => return Err("the controller has closed the connection".into()),
                read => self.incoming.extend_from_slice(&chunk[..read]),
            }
        }
    }

    /// Greets as switch `number`, until the controller is content.
    fn greet(address: &str, number: u8, socket: Option<&str>) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let station = [2, 0, 0, 0, 0, number];
        let mut this = Self { stream, incoming: Vec::new(), at: 0, station, cookie: 0, seq: 0 };
        this.send(1, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }))?;
        while !this.answer(number)? {}
        if let Some(socket) = socket {
            this.roam(number, socket)?;
        }
        Ok(this)
    }

    /// Answers one question; whether it was the last one of the greeting.
    fn answer(&mut self, number: u8) -> Outcome<bool> {
        let Message { xid, body } = Message::parse(&Bytes::copy_from_slice(self.receive()?))?;
        match body {
            Body::FeaturesRequest => {
                let datapath_id = u64::from(number);
                let features = FeaturesReply {
                    datapath_id,
                    n_buffers: 0,
                    n_tables: 1,
                    auxiliary_id: 0,
                    capabilities: 0,
                };
                self.send(xid, Body::FeaturesReply(features))?;
                // Others may have no further question.
                self.stream.set_read_timeout(Some(Duration::from_millis(500)))?;
            }
            Body::BarrierRequest => {
                self.send(xid, Body::BarrierReply)?;
                return Ok(true);
            }
            Body::MultipartRequest(_) => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    /// Its station leaves and comes back; what follows is diverted, since the last barrier is never answered.
    fn roam(&mut self, number: u8, socket: &str) -> Outcome<()> {
        let mut stream = UnixStream::connect(socket)?;
        let mut answers = BufReader::new(stream.try_clone()?);
        for (event, epoch) in [("disassociated", 1), ("associated", 2)] {
            let station = format!("02:00:00:00:00:{number:02x}");
            writeln!(
                stream,
                r#"{{"event": "{event}", "station": "{station}", "ap": "ap{number}", "epoch": {epoch}}}"#
            )?;
            let mut answer = String::new();
            answers.read_line(&mut answer)?;
            if answer.trim() != r#"{"ok":true}"# {
                return Err(answer.into());
            }
        }
        loop {
            let message = Message::parse(&Bytes::copy_from_slice(self.receive()?))?;
            match message.body {
                Body::FlowMod(flow_mod) => self.cookie = flow_mod.cookie,
                Body::BarrierRequest => return Ok(()),
                _ => {}
            }
        }
    }

    /// A packet-in with a frame of 64 bytes, its checksum of Ethernet included.
    fn packet_in(&mut self, to: &mut Vec<u8>) -> Outcome<()> {
        let [src, dst] = [[10, 0, 0, 1], [10, 0, 1, self.station[5]]].map(Into::into);
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 6 };
        let segment = Segment {
            seq: SeqNum(self.seq),
            src_port: 80,
            // Sixteen connections in turn.
            dst_port: 4000 + (self.seq / 6 % 16) as u16,
            flags: Flags::ACK,
            payload,
            ..Segment::EMPTY
        };
        self.seq = self.seq.wrapping_add(6);
        let ethernet = Some(Ethernet { dst: self.station, ..Ethernet::default() });
        let mut frame = Vec::with_capacity(64);
        Packet { ethernet, ..Packet::tcp(src, dst, segment) }.emit(&mut frame)?;
        let packet = PacketIn {
            buffer_id: NO_BUFFER,
            total_len: frame.len() as u16,
            reason: PacketInReason::Action,
            table_id: 0,
            cookie: self.cookie,
            matches: Match { in_port: Some(handfast_wire::openflow::PortNo(1)), ..Match::default() },
            data: frame.into(),
        };
        Ok(Message { xid: 0, body: Body::PacketIn(packet) }.emit(to)?)
    }

    /// Sends and waits for `seconds`, with at most `window` unanswered; how long each took.
    fn run(&mut self, seconds: u64, window: usize) -> Outcome<Vec<u32>> {
        self.stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let (mut waiting, mut took, mut bytes) = (VecDeque::new(), Vec::new(), Vec::new());
        let end = Instant::now() + Duration::from_secs(seconds);
        loop {
            let open = Instant::now() < end;
            if !open && waiting.is_empty() {
                return Ok(took);
            }
            // In batches, as a busy switch does.
            if open && waiting.len() <= window / 2 {
                bytes.clear();
                for _ in waiting.len()..window {
                    self.packet_in(&mut bytes)?;
                    waiting.push_back(Instant::now());
                }
                self.stream.write_all(&bytes)?;
            }
            // OFPT_PACKET_OUT (OpenFlow 1.3.5 §7.1).
            if self.receive()?[1] == 13
                && let Some(sent) = waiting.pop_front()
            {
                took.push(sent.elapsed().as_micros() as u32);
            }
        }
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, seconds, switches, socket @ ..] = &arguments[..] else {
        return Err("expected ADDRESS SECONDS SWITCHES [SOCKET]".into());
    };
    let (seconds, switches): (u64, u8) = (seconds.parse()?, switches.parse()?);
    let socket = socket.first().map(String::as_str);
    let greeted = (1..=switches).map(|number| Switch::greet(address, number, socket));
    let mut all = greeted.collect::<Outcome<Vec<Switch>>>()?;
    let mut one = all[0].run(seconds, 1)?;
    one.sort_unstable();
    let percentile = |share: usize| one[(one.len() - 1) * share / 100];
    println!("one at a time: p50 {} us, p99 {} us, {} of them", percentile(50), percentile(99), one.len());
    let running = all.into_iter().map(|mut switch| thread::spawn(move || switch.run(seconds, WINDOW)));
    let running: Vec<_> = running.collect();
    let mut answered = 0;
    for thread in running {
        answered += thread.join().map_err(|_| "a thread has panicked")??.len() as u64;
    }
    println!("{switches} switches, {WINDOW} unanswered each: {} packet-outs/s", answered / seconds);
    Ok(())
}
