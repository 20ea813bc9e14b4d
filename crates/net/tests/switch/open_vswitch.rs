//! The same requests and packets to this switch and to Open vSwitch: the same errors, entries, counts and packet-ins.
//!
//! Open vSwitch runs with its dummy datapath: no privilege is needed and no device is made. Packets come in as packet-outs through
//! the tables; where they go shows in the entries' counts and in packet-ins.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use handfast_net::{SwitchOutput, SwitchSetup};
use handfast_wire::openflow::{
    ALL_TABLES, Body, FlowMod, FlowModCommand, FlowModFlags, FlowStats, Hello, Instruction, Match, Message,
    MultipartReply, MultipartRequest, PortNo, SwitchConfig,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::bench::{Bench, P1, P2, P3, all_flows, entry, output, packet_out, request};
use crate::generate::{N_TABLES, Step, step};
use crate::naive::fields;

/// A scratch Open vSwitch with one bridge of three ports.
struct OpenVswitch {
    folder: PathBuf,
}

impl OpenVswitch {
    /// [`None`], and the reason on standard error, where it is not installed.
    fn start() -> Option<Self> {
        let schema = Path::new("/usr/share/openvswitch/vswitch.ovsschema");
        if !schema.exists() {
            eprintln!("skipped: Open vSwitch is not installed ({} is missing)", schema.display());
            return None;
        }
        let folder = std::env::temp_dir().join(format!("handfast-ovs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ovs = Self { folder };
        let socket = ovs.path("db.sock");
        ovs.run("ovsdb-tool", &["create", &ovs.path("conf.db"), &schema.display().to_string()]);
        let daemon = ["--detach", "--pidfile", "--log-file", "-vconsole:off"];
        let listen = format!("--remote=punix:{socket}");
        ovs.run("ovsdb-server", &[&daemon[..], &[&ovs.path("conf.db"), &listen]].concat());
        let database = format!("unix:{socket}");
        ovs.run("ovs-vswitchd", &[&daemon[..], &["--enable-dummy", "--disable-system", &database]].concat());
        let option = format!("--db={database}");
        let mut words = vec![option.as_str(), "add-br", "br", "--", "set", "bridge", "br"];
        words.extend(["datapath_type=dummy", "protocols=OpenFlow13", "fail-mode=secure"]);
        let ports = [1, 2, 3].map(|n| (format!("p{n}"), format!("ofport_request={n}")));
        for (name, number) in &ports {
            words.extend([
                "--",
                "add-port",
                "br",
                name,
                "--",
                "set",
                "interface",
                name,
                "type=dummy",
                number,
            ]);
        }
        ovs.run("ovs-vsctl", &words);
        Some(ovs)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(program);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(variable, &self.folder);
        }
        let done = command.args(arguments).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

impl Drop for OpenVswitch {
    fn drop(&mut self) {
        for daemon in ["ovs-vswitchd", "ovsdb-server"] {
            if let Ok(pid) = std::fs::read_to_string(self.path(&format!("{daemon}.pid"))) {
                let _ = Command::new("kill").arg(pid.trim()).status();
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A controller's connection to it.
struct Connection {
    stream: UnixStream,
    /// Messages that nobody asked for, in order.
    unasked: Vec<Body>,
}

impl Connection {
    fn open(ovs: &OpenVswitch) -> Self {
        let stream = UnixStream::connect(ovs.path("br.mgmt")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut connection = Self { stream, unasked: Vec::new() };
        connection.send(Body::Hello(Hello { version: 4, bitmaps: vec![1 << 4] }));
        assert!(matches!(connection.receive(), Body::Hello(_)));
        // Without it a management connection hears no packet-ins.
        connection.send(Body::SetConfig(SwitchConfig { flags: 0, miss_send_len: 128 }));
        connection
    }

    fn send(&mut self, body: Body) {
        let mut bytes = Vec::new();
        Message { xid: 77, body }.emit(&mut bytes).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    fn receive(&mut self) -> Body {
        let mut bytes = vec![0; 8];
        self.stream.read_exact(&mut bytes).unwrap();
        let len = u16::from_be_bytes([bytes[2], bytes[3]]);
        bytes.resize(len.into(), 0);
        self.stream.read_exact(&mut bytes[8..]).unwrap();
        Message::parse(&Bytes::from(bytes)).unwrap().body
    }

    /// The answers to a request, all before that to a barrier.
    fn say(&mut self, body: Body) -> Vec<Body> {
        self.send(body);
        self.send(Body::BarrierRequest);
        let mut answers = Vec::new();
        loop {
            match self.receive() {
                Body::BarrierReply => return answers,
                unasked @ (Body::PacketIn(_) | Body::FlowRemoved(_)) => self.unasked.push(unasked),
                Body::PortStatus(_) => {}
                answer => answers.push(answer),
            }
        }
    }

    /// Waits for messages that come after the answers.
    fn hear(&mut self, count: usize) {
        while self.unasked.len() < count {
            match self.receive() {
                unasked @ (Body::PacketIn(_) | Body::FlowRemoved(_)) => self.unasked.push(unasked),
                other => panic!("expected a packet-in or a removal, got {other:?}"),
            }
        }
    }
}

/// What is said to both. What differs by intent is left out: no entry ends by a timeout (a real clock), entries of one priority do
/// not overlap (which of them is taken is open), and a packet misses in no table without an entry for misses (Open vSwitch
/// executes the action set then).
fn said(step: Step) -> Vec<Body> {
    match step {
        Step::Change(request) => vec![Body::FlowMod(FlowMod {
            priority: request.priority + 1,
            idle_timeout: 0,
            hard_timeout: 0,
            flags: FlowModFlags(request.flags.0 | FlowModFlags::CHECK_OVERLAP.0),
            ..request
        })],
        Step::Packet(in_port, packet) => {
            let mut bodies: Vec<_> = (0..=N_TABLES).map(miss).collect();
            bodies.push(packet_out(in_port, vec![output(PortNo::TABLE)], &packet));
            bodies
        }
        Step::Wait(_) => Vec::new(),
    }
}

/// The entry for misses of a table.
fn miss(table_id: u8) -> Body {
    Body::FlowMod(FlowMod { table_id, ..entry(0, Match::default(), vec![output(PortNo::CONTROLLER)]) })
}

/// Entries by what makes each the only one, and what is told of it. The order of instructions says nothing.
fn books(flows: &[FlowStats]) -> BTreeMap<String, String> {
    let of = |flow: &FlowStats| {
        let key = format!("{} {:05} {:?}", flow.table_id, flow.priority, fields(&flow.matches));
        let mut instructions: Vec<_> = flow.instructions.iter().filter_map(told).collect();
        instructions.sort();
        let counts = (flow.packet_count, flow.byte_count);
        (key, format!("{:?} {:?} {counts:?} {instructions:?}", flow.cookie, flow.flags))
    };
    flows.iter().map(of).collect()
}

/// Open vSwitch does not tell empty lists of actions.
fn told(instruction: &Instruction) -> Option<String> {
    match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) if actions.is_empty() => None,
        other => Some(format!("{other:?}")),
    }
}

fn errors(answers: &[Body]) -> Vec<(u16, u16)> {
    answers
        .iter()
        .map(|answer| match answer {
            Body::Error(error) => (error.kind, error.code),
            other => panic!("unexpected {other:?}"),
        })
        .collect()
}

/// Messages without what depends on a clock, and without the reason of packet-ins: for Open vSwitch it is always an action if the packet
/// came from the controller. The ends of entries that one request deletes come in any order.
fn gist(unasked: &[Body]) -> (Vec<String>, Vec<String>) {
    let (mut packets, mut ends) = (Vec::new(), Vec::new());
    for one in unasked {
        match one {
            Body::PacketIn(told) => {
                let entry = (told.table_id, told.cookie);
                packets.push(format!(
                    "{entry:?} {} {:?} {:?}",
                    told.total_len,
                    fields(&told.matches),
                    told.data
                ));
            }
            Body::FlowRemoved(end) => {
                let counts = (end.packet_count, end.byte_count);
                let entry = (end.table_id, end.priority, end.cookie, end.reason);
                ends.push(format!("{entry:?} {counts:?} {:?}", fields(&end.matches)));
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    ends.sort();
    (packets, ends)
}

fn flows(answers: Vec<Body>) -> Vec<FlowStats> {
    let part = |answer| match answer {
        Body::MultipartReply(MultipartReply::Flow { flows, .. }) => flows,
        other => panic!("unexpected {other:?}"),
    };
    answers.into_iter().flat_map(part).collect()
}

/// The messages that this switch puts out.
fn messages(outputs: Vec<SwitchOutput>) -> Vec<Message> {
    let message = |output| if let SwitchOutput::Message(message) = output { Some(message) } else { None };
    outputs.into_iter().filter_map(message).collect()
}

fn compare(ovs: &OpenVswitch, steps: Vec<Step>) {
    let mut theirs = Connection::open(ovs);
    let mut ours = Bench::of(SwitchSetup { n_tables: 254, ..SwitchSetup::new(1, [P1, P2, P3]) });
    let mut unasked = Vec::new();
    let delete = request(FlowModCommand::Delete, 0, Match::default());
    let tidy = Body::FlowMod(FlowMod { table_id: ALL_TABLES, ..delete });
    for body in steps.into_iter().flat_map(said).chain([tidy]) {
        let (answers, own): (Vec<_>, Vec<_>) =
            messages(ours.say(body.clone())).into_iter().partition(|one| one.xid == 77);
        unasked.extend(own.into_iter().map(|message| message.body));
        let answers: Vec<_> = answers.into_iter().map(|message| message.body).collect();
        assert_eq!(errors(&answers), errors(&theirs.say(body.clone())), "after {body:?}");
        let ask = Body::MultipartRequest(MultipartRequest::Flow(all_flows()));
        assert_eq!(books(&ours.flows()), books(&flows(theirs.say(ask))), "after {body:?}");
    }
    theirs.hear(unasked.len());
    assert_eq!(gist(&unasked), gist(&theirs.unasked));
}

#[test]
fn it_agrees_with_open_vswitch() {
    let Some(ovs) = OpenVswitch::start() else { return };
    let mut runner = TestRunner::deterministic();
    let steps = prop::collection::vec(step(), 1..40);
    for _ in 0..40 {
        compare(&ovs, steps.new_tree(&mut runner).unwrap().current());
    }
}
