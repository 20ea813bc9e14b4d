//! What is done with a controller.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::ledger::Ledger;
use crate::station_events::StationEvents;
use crate::switches::Switches;
use crate::traffic::{Name, Traffic, put_packet_in};

/// How often the daemon is asked whether it knows the switches.
const ASK: Duration = Duration::from_millis(5);

/// Switches, stations, and a controller that knows the switches.
pub(crate) struct Work {
    switches: Switches,
    events: Option<StationEvents>,
    count: u32,
    traffic: Traffic,
    /// The number of all stations' association.
    epoch: u32,
}

type Done = Result<(), Box<dyn Error>>;
type Facts = Result<Value, Box<dyn Error>>;

impl Work {
    pub(crate) fn start(
        connect: SocketAddr,
        association_socket: Option<&Path>,
        count: u32,
        stations: u32,
        connections: u32,
    ) -> Result<Self, Box<dyn Error>> {
        let traffic = Traffic { stations, connections };
        let switches = Switches::connect(connect, count, Ledger::new(traffic))?;
        let mut events = association_socket.map(StationEvents::connect).transpose()?;
        if let Some(events) = &mut events {
            while events.status()?["switches"].as_array().is_none_or(|ready| ready.len() < count as usize) {
                thread::sleep(ASK);
            }
        }
        let mut this = Self { switches, events, count, traffic, epoch: 0 };
        this.arrive()?;
        Ok(this)
    }

    /// Every station is associated: with the next access point than before.
    fn arrive(&mut self) -> Done {
        self.epoch += 1;
        let (epoch, count) = (self.epoch, self.count);
        self.switches.ledger.away = false;
        let Some(events) = &mut self.events else { return Ok(()) };
        events.tell("associated", epoch, self.traffic.stations, |station| at(station, epoch, count))
    }

    /// Every station has left, and every switch diverts what is for it.
    fn leave(&mut self) -> Done {
        let (epoch, count, stations) = (self.epoch, self.count, self.traffic.stations);
        let Some(events) = &mut self.events else { return Ok(()) };
        self.switches.heard.diverted = 0;
        events.tell("disassociated", epoch, stations, |station| at(station, epoch, count))?;
        self.switches.wait("its switch diverts for every station", |switches| {
            switches.heard.diverted >= u64::from(stations)
        })?;
        self.switches.ledger.away = true;
        Ok(())
    }

    /// The switch at which what is for a connection comes by: that of the access point that its station was at.
    fn switch_of(&self, connection: u32) -> usize {
        at(self.traffic.station_of(connection), self.epoch, self.count) as usize - 1
    }

    /// Packet-ins of these segments, by switch.
    fn packet_ins(&self, names: impl Iterator<Item = Name>) -> Vec<Vec<u8>> {
        let mut parts = vec![Vec::new(); self.count as usize];
        for name in names {
            let part = &mut parts[self.switch_of(name.connection)];
            put_packet_in(self.switches.heard.divert, self.traffic.data(name), part);
        }
        parts
    }

    /// Stations leave, segments come for them, and they come back, over and over.
    pub(crate) fn rate(mut self, segments: u32, repeated: u32, rounds: u32) -> Facts {
        let all = self.traffic.all();
        let (new, again) = (u64::from(all * segments), u64::from(all * repeated.min(segments / 2)));
        let mut took = Duration::ZERO;
        for round in 0..rounds {
            self.leave()?;
            let (first, half) = (round * segments, round * segments + segments / 2);
            // What comes a second time comes in the midst, as after a timeout.
            let order = (first..half).chain(first..first + repeated.min(segments / 2));
            let order = order.chain(half..first + segments);
            let names = order.flat_map(|index| (0..all).map(move |connection| Name { connection, index }));
            let parts = self.packet_ins(names);
            let begin = Instant::now();
            self.switches.heard.undiverted = 0;
            self.switches.send_all(&parts)?;
            if self.events.is_some() {
                self.switches.fence()?;
                self.arrive()?;
            }
            let due = new * u64::from(round + 1);
            self.switches.wait("every segment has come", |switches| switches.ledger.arrived >= due)?;
            took += self.switches.ledger.last.map_or(Duration::ZERO, |last| last.duration_since(begin));
            self.settled()?;
        }
        self.switches.ledger.check(rounds * segments)?;
        let rounds = u64::from(rounds);
        self.counted(new * rounds, again * rounds)?;
        Ok(json!({
            "packet_ins": (new + again) * rounds,
            "packet_outs": self.switches.ledger.arrived,
            "repeated": again * rounds,
            "wall_s": took.as_secs_f64(),
        }))
    }

    /// The ways of all stations lead past the controller again.
    fn settled(&mut self) -> Done {
        if self.events.is_none() {
            return Ok(());
        }
        let entries = u64::from(self.traffic.stations);
        self.switches.wait("nothing diverts", |switches| switches.heard.undiverted >= entries)
    }

    /// The daemon has counted the same.
    fn counted(&mut self, held: u64, duplicates: u64) -> Done {
        let Some(events) = &mut self.events else { return Ok(()) };
        let status = events.status()?;
        let counters = &status["counters"];
        let right = counters["held"] == held
            && counters["released"] == held
            && counters["duplicates"] == duplicates
            && status["held_bytes"] == 0;
        if right { Ok(()) } else { Err(format!("the daemon has counted something else: {status}").into()) }
    }

    /// One packet-in at a time.
    pub(crate) fn latency(mut self, packets: u32, interval_us: u64) -> Facts {
        let all = self.traffic.all();
        let first = |connection| Name { connection, index: 0 };
        self.leave()?;
        // The barrier that ends a release is not answered: the stations stay in release.
        self.switches.settles = false;
        let parts = self.packet_ins((0..all).map(first));
        self.switches.send_all(&parts)?;
        if self.events.is_some() {
            self.switches.fence()?;
            self.arrive()?;
        }
        self.switches.wait("the first have come", |switches| switches.ledger.arrived >= u64::from(all))?;
        let mut took = Vec::with_capacity(packets as usize);
        for number in 0..packets {
            thread::sleep(Duration::from_micros(interval_us));
            let name = Name { connection: number % all, index: 1 + number / all };
            let mut bytes = Vec::new();
            put_packet_in(self.switches.heard.divert, self.traffic.data(name), &mut bytes);
            let switch = self.switch_of(name.connection);
            let sent = Instant::now();
            self.switches.send(switch, &bytes)?;
            let due = u64::from(all) + u64::from(number) + 1;
            self.switches.wait("it comes back", |switches| switches.ledger.arrived >= due)?;
            took.extend(self.switches.ledger.last.map(|at| at.duration_since(sent).as_secs_f64() * 1e6));
        }
        if self.switches.ledger.wrong > 0 {
            return Err("what came back was not what was sent".into());
        }
        took.sort_by(f64::total_cmp);
        let quantile = |share: f64| took[((took.len() - 1) as f64 * share).round() as usize];
        Ok(json!({"packets": packets, "p50_us": quantile(0.5), "p99_us": quantile(0.99)}))
    }

    /// Holds so many segments for each connection.
    pub(crate) fn open(mut self, segments: u32) -> Facts {
        let all = self.traffic.all();
        self.leave()?;
        let names =
            (0..segments).flat_map(|index| (0..all).map(move |connection| Name { connection, index }));
        let parts = self.packet_ins(names);
        self.switches.send_all(&parts)?;
        self.switches.fence()?;
        Ok(json!({"connections": all, "held": u64::from(all) * u64::from(segments)}))
    }
}

/// The number of the access point that a station is at.
fn at(station: u32, epoch: u32, count: u32) -> u32 {
    1 + (station + epoch) % count
}
