//! `handfastd sdtp-controller` and nodes that a test plays, over real sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use handfast_assist::sdtp::{Instruction, Order, Report};
use handfast_core::SeqNum;
use handfast_wire::openflow::{Body, FeaturesReply, Hello, Message, VERSION};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::metrics::get_with;
use crate::support::{Daemon, PATIENCE, folder};

const CONFIG: &str = r#"
[sdtp-controller]
listen = "127.0.0.1:0"
socket = "SOCKET"
nodes = [
    {address = "10.99.0.1", datapath_id = "0000000000000001", hosts = ["10.0.0.1"]},
    {address = "10.99.0.2", datapath_id = "0000000000000002"},
    {address = "10.99.0.3", datapath_id = "0000000000000003", hosts = ["10.0.0.2"]},
]
links = [{delay = "5ms", loss = 0.01}, {delay = "5ms", loss = 0.01}]
"#;

fn controller() -> Daemon {
    let folder = folder();
    let file = folder.join("handfastd.toml");
    let socket = folder.join("association");
    fs::write(&file, CONFIG.replace("SOCKET", socket.to_str().unwrap())).unwrap();
    Daemon::start_service("sdtp-controller", folder, &file, &[])
}

fn features(datapath_id: u64) -> Body {
    let (n_buffers, n_tables, auxiliary_id, capabilities) = (0, 1, 0, 0);
    Body::FeaturesReply(FeaturesReply { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities })
}

/// A node.
struct Node {
    stream: TcpStream,
    incoming: Vec<u8>,
}

impl Node {
    fn connect(to: &Daemon) -> Self {
        let stream = TcpStream::connect(to.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        Self { stream, incoming: Vec::new() }
    }

    /// One that the controller knows.
    fn ready(to: &Daemon, datapath_id: u64) -> Self {
        let mut this = Self::connect(to);
        let hello = Hello { version: VERSION, bitmaps: vec![1 << VERSION] };
        this.say(Body::Hello(hello));
        this.until(|body| matches!(body, Body::FeaturesRequest));
        this.say(features(datapath_id));
        let address = json!(format!("10.99.0.{datapath_id}"));
        to.status_with(|status| status["switches"].as_array().unwrap().contains(&address));
        this
    }

    fn say(&mut self, body: Body) {
        let mut out = Vec::new();
        Message { xid: 7, body }.emit(&mut out).unwrap();
        self.stream.write_all(&out).unwrap();
    }

    fn report(&mut self, report: &Report) {
        self.stream.write_all(&report.emit().unwrap()).unwrap();
    }

    /// The next message, or none within a moment.
    fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(len) = Message::framed_len(&self.incoming).unwrap() {
                return Some(self.incoming.drain(..len).collect::<Vec<_>>().into());
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(read @ 1..) => self.incoming.extend_from_slice(&chunk[..read]),
                _ => return None,
            }
        }
    }

    fn until(&mut self, wanted: impl Fn(&Body) -> bool) -> Bytes {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let Some(bytes) = self.next() else { continue };
            if wanted(&Message::parse(&bytes).unwrap().body) {
                return bytes;
            }
        }
        panic!("not said in time");
    }

    /// The next instructions, so many.
    fn instructions(&mut self, count: usize) -> Vec<Instruction> {
        let is_one = |body: &Body| matches!(body, Body::PacketOut(_) | Body::Unknown { .. });
        (0..count).map(|_| Instruction::parse(&self.until(is_one)).unwrap()).collect()
    }

    /// Whether the controller has closed the connection.
    fn is_closed(&mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match self.stream.read(&mut [0; 4096]) {
                Ok(0) => return true,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return true,
                _ => {}
            }
        }
        false
    }
}

fn ip(host: u8) -> IpAddr {
    [10, 0, 0, host].into()
}

fn handshake(answers: bool) -> Packet {
    let flags = if answers { Flags::SYN | Flags::ACK } else { Flags::SYN };
    let (src, dst, ports) = if answers { (ip(2), ip(1), (80, 4000)) } else { (ip(1), ip(2), (4000, 80)) };
    let segment = Segment {
        src_port: ports.0,
        dst_port: ports.1,
        flags,
        seq: SeqNum(9),
        mss: Some(1400),
        ..Segment::EMPTY
    };
    // In a frame that begins like an IPv4 header.
    let ethernet = Some(Ethernet { dst: [0x46; 6], src: [0x62; 6], vlan: None });
    Packet { ethernet, ..Packet::tcp(src, dst, segment) }
}

#[test]
fn a_connection_is_set_up_between_two_edges() {
    let mut daemon = controller();
    let mut nodes = [1, 2, 3].map(|id| Node::ready(&daemon, id));
    nodes[0].report(&Report::Handshake(handshake(false)));
    let [core] = &nodes[1].instructions(1)[..] else { panic!() };
    assert!(matches!(&core.order, Some(Order::Activate(given)) if given.caching), "{core:?}");
    // Functions in both directions, then the SYN.
    let server = nodes[2].instructions(3);
    assert!(matches!(server[0].order, Some(Order::Activate(_))));
    assert!(matches!(server[2].order, Some(Order::Admit(_))), "{server:?}");
    assert_eq!(server[2].packet, Some(handshake(false)));
    nodes[2].report(&Report::Handshake(handshake(true)));
    let client = nodes[0].instructions(3);
    assert_eq!(client[2].packet, Some(handshake(true)));
    assert!(matches!(nodes[2].instructions(1)[0].order, Some(Order::Approve(_))));
    let counters = &daemon.status()["counters"];
    assert_eq!((&counters["controller_admitted"], &counters["controller_plain"]), (&json!(1), &json!(0)));
    assert_eq!(daemon.signal(Signal::SIGTERM).code(), Some(0));
}

#[test]
fn without_the_other_edge_a_connection_is_plain() {
    let daemon = controller();
    let mut client = Node::ready(&daemon, 1);
    client.report(&Report::Handshake(handshake(false)));
    let [back] = &client.instructions(1)[..] else { panic!() };
    assert_eq!((&back.order, &back.packet), (&None, &Some(handshake(false))));
    assert_eq!(daemon.status()["counters"]["controller_plain"], 1);
}

#[test]
fn a_node_that_comes_again_gets_its_functions_and_the_older_connection_ends() {
    let daemon = controller();
    let mut nodes = [1, 2, 3].map(|id| Node::ready(&daemon, id));
    nodes[0].report(&Report::Handshake(handshake(false)));
    nodes[1].instructions(1);
    let mut again = Node::connect(&daemon);
    again.say(Body::Hello(Hello { version: VERSION, bitmaps: vec![] }));
    again.say(features(2));
    assert!(matches!(again.instructions(1)[0].order, Some(Order::Activate(_))));
    assert!(nodes[1].is_closed());
    assert_eq!(daemon.status()["switches"].as_array().unwrap().len(), 3);
}

#[test]
fn who_is_no_node_of_the_line_is_closed() {
    let daemon = controller();
    let known = Node::ready(&daemon, 1);
    let mut stranger = Node::connect(&daemon);
    stranger.say(features(99));
    assert!(stranger.is_closed());
    let mut garbage = Node::connect(&daemon);
    garbage.stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(garbage.is_closed());
    let mut old = Node::connect(&daemon);
    old.say(Body::Hello(Hello { version: 1, bitmaps: vec![] }));
    assert!(old.is_closed());
    // A report before it has said who it is counts for nothing, and silence ends it.
    let mut silent = Node::connect(&daemon);
    silent.report(&Report::Handshake(handshake(false)));
    assert!(silent.is_closed());
    let counters = &daemon.status()["counters"];
    assert_eq!(counters["controller_packet_ins"], 0);
    drop(known);
}

#[test]
fn a_crowd_that_says_nothing_keeps_no_node_out() {
    let daemon = controller();
    let crowd: Vec<_> = (0..40).map(|_| Node::connect(&daemon)).collect();
    let _known: Vec<_> = (1..=3).map(|id| Node::ready(&daemon, id)).collect();
    drop(crowd);
    assert_eq!(daemon.status()["switches"].as_array().unwrap().len(), 3);
}

#[test]
fn its_counters_are_served_to_prometheus() {
    let daemon = controller();
    let file = daemon.folder.join("handfastd.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n[metrics]\nlisten = \"127.0.0.1:0\"\ninterval = \"1s\"\n")).unwrap();
    let metrics = Daemon::start_service("metrics", daemon.folder.clone(), &file, &[]);
    let page = get_with(metrics.address, "handfastd_switches 0");
    assert!(page.lines().any(|line| line == "handfastd_controller_admitted_total 0"), "{page}");
}
