//! The switches' side: a thread for each reads, one for all writes.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use handfast_wire::openflow::{
    Body, FeaturesReply, FlowMod, FlowModCommand, Hello, Message, MultipartReply, MultipartRequest, Port,
    PortNo, Role, RoleMessage, VERSION,
};

use crate::ledger::Ledger;

/// Nothing takes as long, even beside other work.
const PATIENCE: Duration = Duration::from_secs(60);
const CHUNK: usize = 64 << 10;

/// Something that a controller said, and when it was there.
struct Said {
    switch: usize,
    at: Instant,
    message: Message,
}

/// What the controller has ordered so far.
#[derive(Default)]
pub(crate) struct Heard {
    /// Switches that it has greeted to the end.
    pub(crate) greeted: usize,
    /// Whether it claims to be their master.
    claims: bool,
    /// Entries that divert, and their mark.
    pub(crate) diverted: u64,
    pub(crate) divert: u64,
    /// Times that what diverts for a station was taken back, at one switch.
    pub(crate) undiverted: u64,
    /// Answers to our echo requests.
    pub(crate) echoes: usize,
}

/// Connections to a controller.
pub(crate) struct Switches {
    streams: Vec<TcpStream>,
    said: Receiver<Said>,
    pub(crate) heard: Heard,
    pub(crate) ledger: Ledger,
    /// Whether barriers are answered.
    pub(crate) settles: bool,
}

type Done = Result<(), Box<dyn Error>>;

impl Switches {
    /// Connects `count` switches.
    pub(crate) fn connect(to: SocketAddr, count: u32, ledger: Ledger) -> Result<Self, Box<dyn Error>> {
        let (sender, said) = channel();
        let streams = (0..count as usize).map(|switch| {
            let stream = TcpStream::connect(to)?;
            stream.set_nodelay(true)?;
            let (reader, sender) = (stream.try_clone()?, sender.clone());
            thread::spawn(move || read(switch, reader, &sender));
            Ok::<_, std::io::Error>(stream)
        });
        let streams = streams.collect::<Result<_, _>>()?;
        let mut this = Self { streams, said, heard: Heard::default(), ledger, settles: true };
        for switch in 0..this.streams.len() {
            this.say(switch, 1, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }))?;
        }
        this.wait("switches are ready", |this| this.heard.greeted >= this.streams.len())?;
        Ok(this)
    }

    fn say(&mut self, switch: usize, xid: u32, body: Body) -> Done {
        let mut bytes = Vec::new();
        Message { xid, body }.emit(&mut bytes)?;
        self.send(switch, &bytes)
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, switch: usize, bytes: &[u8]) -> Done {
        Ok(self.streams[switch].write_all(bytes)?)
    }

    /// Sends to each switch what is for it, in turns; meanwhile takes what comes.
    pub(crate) fn send_all(&mut self, parts: &[Vec<u8>]) -> Done {
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        for start in (0..most).step_by(CHUNK) {
            for (switch, bytes) in parts.iter().enumerate() {
                let end = bytes.len().min(start + CHUNK);
                if let Some(chunk) = bytes.get(start..end) {
                    self.send(switch, chunk)?;
                }
            }
            while let Ok(said) = self.said.try_recv() {
                self.take(said)?;
            }
        }
        Ok(())
    }

    /// Waits until the controller has read all that was sent: it answers echo requests in their turn.
    pub(crate) fn fence(&mut self) -> Done {
        self.heard.echoes = 0;
        for switch in 0..self.streams.len() {
            self.say(switch, 2, Body::EchoRequest(Bytes::new()))?;
        }
        self.wait("all is read", |this| this.heard.echoes >= this.streams.len())
    }

    /// Takes what comes until it is so.
    pub(crate) fn wait(&mut self, until: &str, so: impl Fn(&Self) -> bool) -> Done {
        let deadline = Instant::now() + PATIENCE;
        while !so(self) {
            match self.said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(said) => self.take(said)?,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = PATIENCE.as_secs();
                    return Err(format!("not within {seconds} s: {until}").into());
                }
                Err(RecvTimeoutError::Disconnected) => return Err("the controller has closed".into()),
            }
        }
        Ok(())
    }

    fn take(&mut self, Said { switch, at, message }: Said) -> Done {
        let Message { xid, body } = message;
        match body {
            // It tries the switch, or tells where a station is.
            Body::PacketOut(packet) if is_for_nobody(&packet.data) => {}
            Body::PacketOut(packet) => self.ledger.enter(at, &packet.data),
            Body::FlowMod(entry) => self.heard.enter(&entry),
            Body::EchoReply(_) => self.heard.echoes += 1,
            Body::EchoRequest(data) => self.say(switch, xid, Body::EchoReply(data))?,
            Body::FeaturesRequest => self.say(switch, xid, features(switch))?,
            Body::MultipartRequest(MultipartRequest::PortDescription) => {
                // The last that os-ken asks; handfastd, which claims a role, has a barrier behind it.
                let ports = MultipartReply::PortDescription { more: false, ports: [1, 2].map(port).into() };
                self.say(switch, xid, Body::MultipartReply(ports))?;
                self.heard.greeted += usize::from(!self.heard.claims);
            }
            Body::RoleRequest(RoleMessage { role: Role::NoChange, .. }) => {
                self.heard.claims = true;
                let nobody = RoleMessage { role: Role::Equal, generation_id: u64::MAX };
                self.say(switch, xid, Body::RoleReply(nobody))?;
            }
            Body::RoleRequest(claim) => self.say(switch, xid, Body::RoleReply(claim))?,
            Body::BarrierRequest if self.settles => {
                self.say(switch, xid, Body::BarrierReply)?;
                self.heard.greeted += 1;
            }
            Body::Error(error) => return Err(format!("the controller says error {}", error.kind).into()),
            _ => {}
        }
        Ok(())
    }
}

impl Heard {
    /// What a flow entry is for. Of those that divert for a station one counts: that of TCP over IPv4.
    fn enter(&mut self, entry: &FlowMod) {
        let matches = &entry.matches;
        match entry.command {
            FlowModCommand::Delete if matches.eth_dst.is_some() => self.undiverted += 1,
            FlowModCommand::Add if (matches.eth_type, matches.ip_proto) == (Some(0x0800), Some(6)) => {
                (self.diverted, self.divert) = (self.diverted + 1, entry.cookie);
            }
            _ => {}
        }
    }
}

/// Whether a frame is broadcast, or of IEEE's first experimental Ethernet type.
fn is_for_nobody(frame: &[u8]) -> bool {
    frame.starts_with(&[0xff; 6]) || frame.get(12..14) == Some(&[0x88, 0xb5])
}

/// A port that is up.
fn port(number: u32) -> Port {
    Port::plain(PortNo(number), [2, 0, 0, 0, 1, number as u8])
}

fn features(switch: usize) -> Body {
    let datapath_id = switch as u64 + 1;
    Body::FeaturesReply(FeaturesReply {
        datapath_id,
        n_buffers: 0,
        n_tables: 254,
        auxiliary_id: 0,
        capabilities: 0,
    })
}

/// Reads until the controller closes, or says what is no `OpenFlow`.
fn read(switch: usize, mut stream: TcpStream, to: &Sender<Said>) {
    let mut incoming = BytesMut::new();
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = stream.read(&mut chunk) {
        let at = Instant::now();
        incoming.extend_from_slice(&chunk[..read]);
        while let Ok(Some(len)) = Message::framed_len(&incoming) {
            let Ok(message) = Message::parse(&incoming.split_to(len).freeze()) else { return };
            if to.send(Said { switch, at, message }).is_err() {
                return;
            }
        }
    }
}
