//! What thousands of sessions take.

use std::collections::BTreeMap;
use std::process::Command;

use handfast_assist::iosl::end::{Action, Config, End, PathId};
use handfast_assist::iosl::frame::Target;
use handfast_assist::iosl::ids::{Connection, Socket};
use handfast_assist::iosl::session::{Event, Read};
use handfast_core::Instant;

use crate::world::{CLIENT, SERVER, address, identity, keys};

pub(crate) const NOW: Instant = Instant::from_millis(1_000);

/// What the kernel says that this process has, in bytes.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    statm.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * 4_096)
}

/// Two ends that hear each other at once, by the paths of the other one.
pub(crate) struct Pair {
    pub(crate) ends: [End; 2],
    peers: [BTreeMap<PathId, PathId>; 2],
    /// What a connection takes at a time.
    pub(crate) room: usize,
}

impl Pair {
    pub(crate) fn new(config: Config) -> Self {
        let ends = [CLIENT, SERVER].map(|end| End::new(identity(end, 0), config));
        Self { ends, peers: Default::default(), room: 60_000 }
    }

    pub(crate) fn settle(&mut self) {
        loop {
            let mut is_idle = true;
            for end in [CLIENT, SERVER] {
                while let Some(action) = self.ends[end].poll_action() {
                    let path = match action {
                        Action::Dial { path, .. } => path,
                        Action::Close(path) => {
                            if let Some(other) = self.peers[end].remove(&path) {
                                self.ends[1 - end].on_closed(NOW, other);
                            }
                            continue;
                        }
                    };
                    let other = self.ends[1 - end].on_accepted(NOW, address(end));
                    self.peers[end].insert(path, other);
                    self.peers[1 - end].insert(other, path);
                    self.ends[end].on_connected(NOW, path);
                }
                while let Some(path) = self.ends[end].poll_ready() {
                    while let Some(octets) = self.ends[end].poll_transmit(NOW, path, self.room) {
                        assert!((1..=self.room).contains(&octets.len()));
                        self.ends[1 - end].on_octets(NOW, self.peers[end][&path], &octets);
                        is_idle = false;
                    }
                }
            }
            if is_idle {
                return;
            }
        }
    }

    /// What an end has sent on a path arrives.
    pub(crate) fn deliver(&mut self, end: usize, path: PathId, octets: &[u8]) {
        self.ends[1 - end].on_octets(NOW, self.peers[end][&path], octets);
    }

    /// One that a program has said an octet on, and got one: its sockets.
    pub(crate) fn open(&mut self, number: u16) -> [Socket; 2] {
        let application = self.ends[CLIENT].open_application().unwrap();
        let target = Target::new("server.example", 22).unwrap();
        let ends = [([127, 0, 0, 1], number).into(), ([10, 0, 0, 2], 22).into()];
        let peer = Some(keys(SERVER).public());
        let client = &mut self.ends[CLIENT];
        let one = client.open(NOW, application, Connection::Tcp(ends), target, peer).unwrap();
        client.write(NOW, one, b"?").unwrap();
        self.settle();
        let (other, opened) = self.ends[SERVER].poll_event(NOW).unwrap();
        assert_eq!(opened, Event::Opened);
        self.ends[SERVER].write(NOW, other, b"!").unwrap();
        self.settle();
        assert_eq!(self.ends[SERVER].read(NOW, other, 9), Ok(Read::Octets(b"?".to_vec())));
        assert_eq!(self.ends[CLIENT].read(NOW, one, 9), Ok(Read::Octets(b"!".to_vec())));
        for end in &mut self.ends {
            while end.poll_event(NOW).is_some() {}
        }
        [one, other]
    }
}

/// `IOSL_SESSIONS=10000` for more than the default. A session at one end may take 20 kB, so that 10,000 take 200 MB.
#[test]
fn a_session_without_octets_takes_little() {
    const ALONE: &str = "IOSL_ALONE";
    // What the kernel counts is of a process: other tests of this one would be counted too.
    if std::env::var_os(ALONE).is_none() {
        let this = ["memory::a_session_without_octets_takes_little", "--exact", "--nocapture"];
        let alone =
            Command::new(std::env::current_exe().unwrap()).args(this).env(ALONE, "").output().unwrap();
        println!("{}", String::from_utf8_lossy(&alone.stdout));
        assert!(alone.status.success(), "{}", String::from_utf8_lossy(&alone.stderr));
        return;
    }
    let sessions =
        std::env::var("IOSL_SESSIONS").ok().and_then(|number| number.parse().ok()).unwrap_or(1_000u16);
    let config = Config { sessions_of_one: 20_000, applications: 20_000, ..Config::default() };
    let mut pair = Pair::new(config);
    let before = resident();
    for number in 0..sessions {
        pair.open(number);
    }
    let at = pair.ends.iter().filter_map(End::deadline).max();
    for end in &mut pair.ends {
        // Acknowledgments that waited for others.
        end.on_timer(at.unwrap_or(NOW));
    }
    pair.settle();
    assert_eq!(pair.ends.each_ref().map(End::memory), [0, 0], "nothing is kept that was read");
    assert_eq!(pair.ends.each_ref().map(|end| end.sessions().count()), [usize::from(sessions); 2]);
    let (Some(before), Some(after)) = (before, resident()) else { return };
    let each = after.saturating_sub(before) / (2 * u64::from(sessions));
    println!("{each} bytes a session and end, {sessions} sessions");
    assert!(each < 20_000, "{each}");
}
