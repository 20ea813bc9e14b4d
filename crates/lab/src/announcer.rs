//! Who tells the controller where stations are: the access points' part, with the delay that the scheme gives them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use handfast_core::{Duration, Instant};
use handfast_io::line_socket::LineCaller;
use handfast_plan::address::Addresses;
use handfast_plan::association::{Associations, StationEvent};
use handfast_plan::timeline::Timeline;
use handfast_scenario::{NodeId, Scenario, Sdn};
use serde_json::{Value, json};

use crate::error::Tried;
use crate::names::mac_text;
use crate::traffic::Board;
use crate::{Clock, LabError};

/// How long the controller may take to answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How often the thread looks whether the run is over, and whether a controller that was lost is back.
const NAP: Duration = Duration::from_millis(20);

/// Who speaks for the access points at the controller's association socket. As they do, it looks for a controller that is
/// gone, and says to a new one where its stations are.
pub(crate) struct Announcer {
    socket: PathBuf,
    /// [`None`]: nobody listens.
    controller: Option<LineCaller>,
    /// What will be said, of whom, and when.
    events: Vec<(Instant, NodeId, String)>,
    /// The last event of each station.
    last: BTreeMap<NodeId, String>,
    announced: Announced,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    /// How late the latest event was told, of those that somebody was there to hear.
    pub(crate) late: Duration,
    /// How many times the controller was lost.
    pub(crate) lost: u32,
    /// What the controller has counted; [`None`]: it was lost, and with it what it had counted before.
    pub(crate) counters: Option<BTreeMap<String, u64>>,
}

impl Announcer {
    /// Connects, and says where stations are at the start.
    ///
    /// # Errors
    /// Nobody listens, or the controller refuses what it is told.
    pub(crate) fn open(
        scenario: &Scenario,
        sdn: &Sdn,
        timeline: &Timeline,
        socket: &Path,
    ) -> Result<Self, LabError> {
        let events = Associations::new(scenario, timeline).station_events(sdn.notification, sdn.end_notice);
        let (first, later): (Vec<StationEvent>, Vec<StationEvent>) =
            events.into_iter().partition(|event| event.at == Instant::ZERO);
        let of = |event: StationEvent| (event.station, line(scenario, event));
        let later = later.into_iter().map(|event| (event.at, event.station, line(scenario, event)));
        let mut this = Self {
            socket: socket.to_owned(),
            controller: None,
            events: later.collect(),
            last: first.into_iter().map(of).collect(),
            announced: Announced::default(),
        };
        this.connect().tried(|| format!("the controller's socket {}", socket.display()))?;
        Ok(this)
    }

    /// Says each thing in time, until the run is over.
    ///
    /// # Errors
    /// The controller refuses what it is told, or does not answer.
    pub(crate) fn run(mut self, clock: Clock, end: Instant, board: &Board) -> Result<Announced, LabError> {
        for (at, station, line) in std::mem::take(&mut self.events) {
            if !self.attend(clock, at.min(end), board)? || at >= end {
                return Ok(self.announced);
            }
            if self.controller.is_some() {
                self.announced.late = self.announced.late.max(clock.now().since(at));
            }
            let told = self.tell(&line);
            self.survived(told)?;
            self.last.insert(station, line);
        }
        self.attend(clock, end, board)?;
        if self.announced.lost == 0 {
            let asked = self.ask("{\"event\": \"status\"}");
            self.announced.counters = asked.ok().flatten().map(|status| counters(&status));
        }
        Ok(self.announced)
    }

    /// Waits, and sees to it that somebody listens; whether the run goes on.
    fn attend(&mut self, clock: Clock, until: Instant, board: &Board) -> Result<bool, LabError> {
        while clock.now() < until && !board.is_stopped() {
            let nap = until.since(clock.now()).min(NAP);
            if let Some(controller) = &mut self.controller {
                let watched = controller.idle(nap);
                self.survived(watched)?;
            } else {
                thread::sleep(std::time::Duration::from_nanos(nap.as_nanos()));
                let found = self.connect();
                self.survived(found)?;
            }
        }
        Ok(!board.is_stopped())
    }

    /// Looks for the controller and says where stations are, as far as is known.
    fn connect(&mut self) -> io::Result<()> {
        self.controller = Some(LineCaller::connect(&self.socket, PATIENCE)?);
        for line in self.last.clone().into_values() {
            self.tell(&line)?;
        }
        Ok(())
    }

    /// That a controller is gone, or not there yet, is no error: it may come back.
    fn survived(&mut self, done: io::Result<()>) -> Result<(), LabError> {
        match done {
            Err(error) if is_loss(&error) => {
                self.announced.lost += u32::from(self.controller.take().is_some());
                Ok(())
            }
            done => done.tried(|| "the controller".to_owned()),
        }
    }

    /// To nobody if nobody listens.
    fn tell(&mut self, line: &str) -> io::Result<()> {
        self.ask(line).map(drop)
    }

    /// Its answer, if somebody listens.
    fn ask(&mut self, line: &str) -> io::Result<Option<Value>> {
        let Some(controller) = &mut self.controller else { return Ok(None) };
        verdict(&controller.ask(line)?).map(Some)
    }
}

/// The counters of a status; what is told by kind of packet is added up.
fn counters(status: &Value) -> BTreeMap<String, u64> {
    let all = status["counters"].as_object().into_iter().flatten();
    let total = |count: &Value| match count {
        Value::Object(kinds) => Some(kinds.values().filter_map(Value::as_u64).sum()),
        count => count.as_u64(),
    };
    all.filter_map(|(name, count)| Some((name.clone(), total(count)?))).collect()
}

/// Whether this is how a connection ends, or a socket looks at which nobody listens any more, or yet.
fn is_loss(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | NotFound | UnexpectedEof)
}

fn line(scenario: &Scenario, StationEvent { station, ap, epoch, began, .. }: StationEvent) -> String {
    let event = if began { "associated" } else { "disassociated" };
    let (station, ap) = (mac_text(Addresses::of(scenario).mac_of(station)), &scenario.nodes[ap].name);
    json!({"event": event, "station": station, "ap": ap, "epoch": epoch}).to_string()
}

fn verdict(answer: &str) -> io::Result<Value> {
    let refused = || io::Error::other(format!("it answered: {}", answer.trim_end()));
    let answer: Value = serde_json::from_str(answer).map_err(|_| refused())?;
    if answer.get("ok") == Some(&Value::Bool(true)) { Ok(answer) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_line_names_station_access_point_and_epoch() {
        let scenario = testing::roam(&[]);
        let event = StationEvent { at: Instant::ZERO, station: 4, ap: 3, epoch: 2, began: true };
        let text = line(&scenario, event);
        let read: Value = serde_json::from_str(&text).unwrap();
        let ap = scenario.nodes[3].name.as_str();
        let expected = json!({"event": "associated", "station": "02:00:0a:00:00:05", "ap": ap, "epoch": 2});
        assert_eq!(read, expected);
    }

    const PATIENT: std::time::Duration = std::time::Duration::from_secs(5);

    /// A controller that answers so many lines, and then is gone.
    fn hears(listener: &UnixListener, lines: usize) -> Vec<String> {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENT)).unwrap();
        let mut stream = BufReader::new(stream);
        let line = |_| {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            stream.get_mut().write_all(b"{\"ok\": true}\n").unwrap();
            line
        };
        (0..lines).map(line).collect()
    }

    #[test]
    fn a_new_controller_hears_where_stations_are() {
        let socket = std::env::temp_dir().join(format!("handfast-announcer-{}", std::process::id()));
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let event = |ms, station: NodeId, line: &str| (Instant::from_millis(ms), station, line.to_owned());
        let mut announcer = Announcer {
            socket: socket.clone(),
            controller: None,
            events: vec![event(10, 4, "4 goes"), event(400, 4, "4 is back")],
            last: [(4, "4 is here".to_owned()), (5, "5 is here".to_owned())].into(),
            announced: Announced::default(),
        };
        let (board, end) = (Board::new(0, handfast_plan::Streams::new([])), Instant::from_millis(500));
        let (heard, announced) = thread::scope(|scope| {
            let controller = scope.spawn(move || {
                let first = hears(&listener, 3);
                let again = hears(&listener, 3);
                [first, again].map(|lines| lines.concat())
            });
            announcer.connect().unwrap();
            let clock = Clock::start();
            let announced = announcer.run(clock, end, &board).unwrap();
            (controller.join().unwrap(), announced)
        });
        std::fs::remove_file(&socket).unwrap();
        assert_eq!(
            heard,
            ["4 is here\n5 is here\n4 goes\n", "4 goes\n5 is here\n4 is back\n"].map(str::to_owned)
        );
        assert_eq!(announced.lost, 2);
    }

    #[test]
    fn counters_by_kind_are_added_up() {
        let status = json!({"ok": true, "counters": {"held": 7, "dropped_other": {"arp": 2, "udp": 3}}});
        let expected = [("dropped_other", 5), ("held", 7)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(counters(&status), expected.into());
        assert_eq!(counters(&json!({"ok": true})), BTreeMap::new());
    }

    #[test]
    fn only_ok_is_ok() {
        assert!(verdict("{\"ok\": true}\n").is_ok());
        for wrong in ["", "{\"error\": \"unknown access point\"}", "{\"ok\": false}", "ok"] {
            assert!(verdict(wrong).is_err(), "{wrong}");
        }
    }
}
