//! A daemon, a switch and an access point.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use handfast_assist::sdn::{COOKIE, COOKIE_MASK};
use handfast_core::SeqNum;
use handfast_document::testing::edited;
use handfast_wire::openflow::{
    Action, Body, FeaturesReply, FlowMod, FlowModCommand, Hello, Match, Message, MultipartReply,
    MultipartRequest, NO_BUFFER, PacketIn, PacketInReason, PacketOut, Port, PortNo, Role, RoleMessage,
    VERSION,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet, Payload};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Nothing here takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const STATION: [u8; 6] = [2, 0, 10, 0, 0, 5];
pub(crate) const SWITCH: u64 = 1;

/// What a test's configuration adds goes between the top and the tables.
const CONFIG: &str = r#"
listen = "127.0.0.1:0"
association_socket = "SOCKET"
EXTRA

[access_points.ap1]
datapath_id = "0000000000000001"
port = 2

[access_points.ap2]
datapath_id = "0000000000000001"
port = 3
"#;
/// Scripted switches do not answer when they are asked whether they are there.
pub(crate) const ACT: &str = "mode = \"act\"\nrelease = {rate = \"54Mbit/s\"}\necho_interval = \"60s\"";

pub(crate) struct Daemon {
    child: Child,
    pub(crate) folder: PathBuf,
    pub(crate) address: SocketAddr,
    log: Receiver<Value>,
    seen: Vec<Value>,
}

/// A folder of this test's own.
pub(crate) fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("handfastd-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A configuration file in a test's folder, where the association socket will be too.
pub(crate) fn config_in(folder: &Path, extra: &str) -> PathBuf {
    let socket = folder.join("association");
    let config = edited(&edited(CONFIG, "SOCKET", socket.to_str().unwrap()), "EXTRA", extra);
    let file = folder.join("handfastd.toml");
    fs::write(&file, config).unwrap();
    file
}

impl Daemon {
    pub(crate) fn start(extra: &str) -> Self {
        Self::start_in(folder(), extra, &[])
    }

    pub(crate) fn start_in(folder: PathBuf, extra: &str, options: &[&str]) -> Self {
        let file = config_in(&folder, extra);
        Self::start_service("controller", folder, &file, options)
    }

    /// Starts any service with a configuration file; it has to log where it listens.
    pub(crate) fn start_service(service: &str, folder: PathBuf, file: &Path, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_handfastd"))
            .args(service.split(' '))
            .arg("--config")
            .arg(file)
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, log) = channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        thread::spawn(move || {
            for line in lines {
                let line = line.unwrap();
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if to.send(value).is_err() {
                    return;
                }
            }
        });
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut this = Self { child, folder, address, log, seen: Vec::new() };
        this.address = this.logged("started")["listen"].as_str().unwrap().parse().unwrap();
        this
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("association")
    }

    /// Waits for a message in the log.
    pub(crate) fn logged(&mut self, message: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.log.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line["message"] == message {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no `{message}` in {:#?}", self.seen)
                }
            }
        }
    }

    /// All that was logged until now.
    pub(crate) fn rest_so_far(&mut self) -> Vec<Value> {
        let mut all = std::mem::take(&mut self.seen);
        all.extend(self.log.try_iter());
        all
    }

    /// All that is logged up to its end.
    pub(crate) fn rest_of_log(&mut self) -> Vec<Value> {
        let mut all = std::mem::take(&mut self.seen);
        all.extend(self.log.iter());
        all
    }

    /// Says something as an access point; the answer.
    pub(crate) fn say(&self, line: &str) -> Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        writeln!(stream, "{line}").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    pub(crate) fn station_event(&self, event: &str, ap: &str, epoch: u64) {
        let line = format!(
            r#"{{"event": "{event}", "station": "02:00:0a:00:00:05", "ap": "{ap}", "epoch": {epoch}}}"#
        );
        assert_eq!(self.say(&line), serde_json::json!({"ok": true, "epoch": epoch}));
    }

    pub(crate) fn status(&self) -> Value {
        self.say(r#"{"event": "status"}"#)
    }

    /// Asks for the status until it is so.
    pub(crate) fn status_with(&self, right: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            if right(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "{status:#}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal that does not end it.
    pub(crate) fn nudge(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A switch that does what a test says.
pub(crate) struct Switch {
    pub(crate) stream: TcpStream,
    incoming: Vec<u8>,
}

impl Switch {
    pub(crate) fn connect(daemon: &Daemon) -> Self {
        let stream = TcpStream::connect(daemon.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, incoming: Vec::new() }
    }

    /// Greets; what it was told to change until then.
    pub(crate) fn ready(daemon: &Daemon) -> (Self, Vec<FlowMod>) {
        let mut this = Self::connect(daemon);
        let orders = this.greet(SWITCH);
        daemon.status_with(|status| status["switches"] == serde_json::json!(["0000000000000001"]));
        (this, orders)
    }

    pub(crate) fn greet(&mut self, datapath_id: u64) -> Vec<FlowMod> {
        assert!(matches!(self.receive().body, Body::Hello(_)));
        self.send(1, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }));
        let question = self.receive();
        assert_eq!(question.body, Body::FeaturesRequest);
        let features =
            FeaturesReply { datapath_id, n_buffers: 0, n_tables: 254, auxiliary_id: 0, capabilities: 0 };
        self.send(question.xid, Body::FeaturesReply(features));
        self.orders_until_barrier()
    }

    pub(crate) fn send(&mut self, xid: u32, body: Body) {
        self.stream.write_all(&bytes_of(xid, body)).unwrap();
    }

    /// The next message; panics where the daemon has closed.
    pub(crate) fn receive(&mut self) -> Message {
        loop {
            let message = self.try_receive().expect("the connection is open");
            // What its tables are like, this switch does not say.
            let tables = MultipartRequest::Table;
            if ![tables, MultipartRequest::TableFeatures].map(Body::MultipartRequest).contains(&message.body)
            {
                return message;
            }
        }
    }

    /// The next message; [`None`]: the daemon has closed.
    pub(crate) fn try_receive(&mut self) -> Option<Message> {
        loop {
            if let Some(len) = Message::framed_len(&self.incoming).unwrap() {
                let bytes: Vec<u8> = self.incoming.drain(..len).collect();
                return Some(Message::parse(&Bytes::from(bytes)).unwrap());
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(read) => self.incoming.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                // signal(7): a read with a timeout is interrupted when the process is stopped and goes on.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(crate) fn flow_mod(&mut self) -> FlowMod {
        match self.receive().body {
            Body::FlowMod(flow_mod) => flow_mod,
            other => panic!("expected a flow-mod: {other:?}"),
        }
    }

    /// Flow-mods up to a barrier, which is answered, as are questions for ports and for who commands.
    pub(crate) fn orders_until_barrier(&mut self) -> Vec<FlowMod> {
        let mut orders = Vec::new();
        loop {
            let Message { xid, body } = self.receive();
            match body {
                Body::FlowMod(flow_mod) => orders.push(flow_mod),
                Body::RoleRequest(RoleMessage { role: Role::NoChange, .. }) => {
                    let nobody = RoleMessage { role: Role::Equal, generation_id: u64::MAX };
                    self.send(xid, Body::RoleReply(nobody));
                }
                Body::RoleRequest(claim) => self.send(xid, Body::RoleReply(claim)),
                Body::MultipartRequest(MultipartRequest::PortDescription) => {
                    let ports = (1..=4).map(port).collect();
                    let reply = MultipartReply::PortDescription { more: false, ports };
                    self.send(xid, Body::MultipartReply(reply));
                }
                // It tries whether a packet can be handed back.
                Body::PacketOut(PacketOut { in_port: PortNo::CONTROLLER, .. }) => {}
                Body::BarrierRequest => {
                    self.send(xid, Body::BarrierReply);
                    return orders;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// A packet-out: the port from which it goes through the tables, and the packet.
    pub(crate) fn handed_back(&mut self) -> (PortNo, Bytes) {
        let body = self.receive().body;
        let Body::PacketOut(PacketOut { in_port, actions, data, .. }) = body else { panic!("{body:?}") };
        let table = Action::Output { port: PortNo::TABLE, max_len: 0 };
        assert_eq!(actions, [Action::SetMetadata(0x6866), table]);
        (in_port, data)
    }

    /// It is told where the station is.
    pub(crate) fn announced(&mut self) -> PortNo {
        let (port, update) = self.handed_back();
        assert_eq!((&update[..6], &update[6..12]), (&[0xff; 6][..], &STATION[..]));
        port
    }

    /// The entries that divert what is for the station, and what it says; the mark of those of which packets come.
    pub(crate) fn diverts(&mut self) -> u64 {
        self.entries(4)
    }

    /// The same once it is back.
    pub(crate) fn diverts_again(&mut self) -> u64 {
        self.entries(3)
    }

    fn entries(&mut self, count: usize) -> u64 {
        let entries: Vec<_> = (0..count).map(|_| self.flow_mod()).collect();
        for entry in &entries {
            assert_eq!((entry.command, entry.hard_timeout), (FlowModCommand::Add, 2));
            assert_eq!(entry.cookie & COOKIE_MASK, COOKIE);
        }
        entries[0].cookie
    }

    /// Something that diverts goes.
    pub(crate) fn frees(&mut self) {
        assert_eq!(self.flow_mod().command, FlowModCommand::Delete);
    }

    /// Diverts a segment to the controller.
    pub(crate) fn divert(&mut self, cookie: u64, frame: &[u8]) {
        self.send(0, packet_in(cookie, frame));
    }
}

pub(crate) fn bytes_of(xid: u32, body: Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    Message { xid, body }.emit(&mut bytes).unwrap();
    bytes
}

/// A port that is up.
fn port(number: u32) -> Port {
    Port::plain(PortNo(number), [2, 0, 0, 0, 1, number as u8])
}

pub(crate) fn packet_in(cookie: u64, frame: &[u8]) -> Body {
    Body::PacketIn(PacketIn {
        buffer_id: NO_BUFFER,
        total_len: frame.len() as u16,
        reason: PacketInReason::Action,
        table_id: 0,
        cookie,
        matches: Match { in_port: Some(PortNo(1)), ..Match::default() },
        data: Bytes::copy_from_slice(frame),
    })
}

/// A datagram for the station, from a port.
pub(crate) fn datagram(from: u16) -> Vec<u8> {
    let [src, dst] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
    let header = [from, 5000, 108, 0].map(u16::to_be_bytes).concat();
    let payload = Payload::Bytes([header, vec![7; 100]].concat().into());
    let ethernet = Some(Ethernet { dst: STATION, ..Ethernet::default() });
    let body = handfast_wire::Body::Other { protocol: 17, payload };
    let mut frame = Vec::new();
    Packet { ethernet, body, ..Packet::tcp(src, dst, Segment::EMPTY) }.emit(&mut frame).unwrap();
    frame
}

/// A frame for the station with 1,000 bytes of payload that no log and no recording may have.
pub(crate) fn frame(seq: u32) -> Vec<u8> {
    let [src, dst] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
    let payload = Payload::Bytes(Bytes::from(b"SECRET--".repeat(125)));
    let segment = Segment {
        seq: SeqNum(seq),
        src_port: 80,
        dst_port: 4000,
        flags: Flags::ACK,
        payload,
        ..Segment::EMPTY
    };
    let ethernet = Some(Ethernet { dst: STATION, ..Ethernet::default() });
    let packet = Packet { ethernet, ..Packet::tcp(src, dst, segment) };
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap();
    frame
}

pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
