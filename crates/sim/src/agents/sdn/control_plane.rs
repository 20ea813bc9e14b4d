//! The controller, its switches, and the control channels between them, as one machine in virtual time.

use std::collections::BTreeMap;

use handfast_assist::sdn::{Config, ConnId, Controller, Notice, Outbox, Output, Record, What};
use handfast_core::Instant;
use handfast_net::{Switch, SwitchOutbox, SwitchOutput, SwitchPass, SwitchSetup};
use handfast_wire::Packet;
use handfast_wire::openflow::{
    ANY_GROUP, Action, Body, FlowMod, FlowModCommand, FlowModFlags, Instruction, Match, Message, NO_BUFFER,
    PortNo,
};

use super::control_channel::{ControlChannel, Direction};

/// A packet that leaves a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// By this port.
    By(PortNo, Packet),
    /// As it would be forwarded without `OpenFlow`; it had come in by this port.
    Normal(PortNo, Packet),
    /// Nowhere.
    Dropped(Packet),
}

/// A message in flight.
#[derive(Debug)]
enum InFlight {
    Up(ConnId, Message),
    Down(ConnId, Message),
}

/// A switch's end of its channel, while that stands.
#[derive(Debug)]
struct Connection {
    id: ConnId,
    up: Direction,
    down: Direction,
}

/// A controller and its switches.
pub struct ControlPlane {
    controller: Controller,
    switches: Vec<Switch>,
    /// For each switch its connection, if it stands.
    connections: Vec<Option<Connection>>,
    last: u64,
    channel: ControlChannel,
    /// By arrival, and at equal times in the order of sending.
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    sent: u64,
    scratch: Vec<u8>,
    /// By time; at equal times the counters of access points come before the events that they belong to.
    notices: BTreeMap<(Instant, bool, u64), Notice>,
    announced: u64,
    for_controller: Outbox,
    for_switch: SwitchOutbox,
    records: Vec<(Instant, Record)>,
    departures: Vec<(usize, Departure)>,
    /// When something is due. Kept, since most packets pass a switch without changing it, and many switches would be asked.
    wake: Option<Instant>,
}

impl ControlPlane {
    /// Switches that connect to a controller at `now`, each by a channel of its own.
    pub fn new(
        now: Instant,
        config: Config,
        switches: impl IntoIterator<Item = SwitchSetup>,
        channel: impl Into<ControlChannel>,
    ) -> Self {
        let switches: Vec<Switch> = switches.into_iter().map(Switch::new).collect();
        let mut this = Self {
            controller: Controller::new(config),
            connections: switches.iter().map(|_| None).collect(),
            switches,
            last: 0,
            channel: channel.into(),
            in_flight: BTreeMap::new(),
            sent: 0,
            scratch: Vec::new(),
            notices: BTreeMap::new(),
            announced: 0,
            for_controller: Outbox::default(),
            for_switch: SwitchOutbox::default(),
            records: Vec::new(),
            departures: Vec::new(),
            wake: None,
        };
        for switch in 0..this.switches.len() {
            this.connect(now, switch);
            // What the operator has put there: the controller's rules lie over it.
            let message = Message { xid: 0, body: normal() };
            this.switches[switch].on_message(now, &message, &mut this.for_switch);
        }
        this.update_wake();
        this
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// A switch.
    pub fn switch(&self, switch: usize) -> &Switch {
        &self.switches[switch]
    }

    /// What happened at the controller since the last call, and when.
    pub fn records(&mut self) -> Vec<(Instant, Record)> {
        std::mem::take(&mut self.records)
    }

    /// Packets that left since the last call, with the switch that they left, in order.
    pub fn departures(&mut self) -> std::vec::Drain<'_, (usize, Departure)> {
        self.departures.drain(..)
    }

    /// The controller will be told this at `at`.
    pub fn announce(&mut self, at: Instant, notice: Notice) {
        self.announced += 1;
        let event = !matches!(notice.what, What::Delivered(_));
        self.notices.insert((at, event, self.announced), notice);
        self.update_wake();
    }

    /// A packet came in at a switch. It has its Ethernet header.
    pub fn on_packet(&mut self, now: Instant, switch: usize, in_port: PortNo, packet: Packet) {
        self.switches[switch].on_packet(now, in_port, packet, &mut self.for_switch);
        let told = self.collect(now, switch);
        if told || self.wake.is_some_and(|due| due <= now) {
            self.run_due(now);
        }
    }

    /// As [`ControlPlane::on_packet`], where the packet only passes its switch and nothing is due: it stays with the driver.
    /// [`None`]: nothing was done.
    pub fn pass(
        &mut self,
        now: Instant,
        switch: usize,
        in_port: PortNo,
        packet: &Packet,
    ) -> Option<SwitchPass> {
        if self.wake.is_some_and(|due| due <= now) {
            return None;
        }
        self.switches[switch].pass(now, in_port, packet)
    }

    /// The deadline has come; afterwards it is in the future.
    pub fn on_timer(&mut self, now: Instant) {
        self.run_due(now);
    }

    /// When [`ControlPlane::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.wake
    }

    fn update_wake(&mut self) {
        let message = self.in_flight.first_key_value().map(|(&(due, _), _)| due);
        let notice = self.notices.first_key_value().map(|(&(due, ..), _)| due);
        let switches = self.switches.iter().filter_map(Switch::deadline);
        self.wake = [message, notice, self.controller.deadline()].into_iter().flatten().chain(switches).min();
    }

    /// A switch connects (again).
    pub fn connect(&mut self, now: Instant, switch: usize) {
        self.cut(now, switch);
        self.last += 1;
        let conn = ConnId(self.last);
        let [up, down] = [Direction::new(self.channel); 2];
        self.connections[switch] = Some(Connection { id: conn, up, down });
        self.switches[switch].connected(now, &mut self.for_switch);
        self.controller.connected(now, conn, &mut self.for_controller);
        self.collect(now, switch);
        self.hand_out(now);
        self.update_wake();
    }

    /// A switch's connection breaks: messages in flight on it are lost, and both ends know at once.
    pub fn cut(&mut self, now: Instant, switch: usize) {
        let Some(connection) = self.connections[switch].take() else { return };
        self.switches[switch].connection_lost(now, &mut self.for_switch);
        self.controller.disconnected(connection.id, &mut self.for_controller);
        self.collect(now, switch);
        self.hand_out(now);
        self.update_wake();
    }

    /// The controller dies without a word, and another one takes its place that knows nothing.
    pub fn restart(&mut self, now: Instant, config: Config) {
        self.controller = Controller::new(config);
        for switch in 0..self.switches.len() {
            if let Some(_dead) = self.connections[switch].take() {
                self.switches[switch].connection_lost(now, &mut self.for_switch);
                self.collect(now, switch);
            }
            self.connect(now, switch);
        }
    }

    /// The controller ends as it should.
    pub fn end(&mut self, now: Instant) {
        self.controller.shut_down(&mut self.for_controller);
        self.hand_out(now);
        self.update_wake();
    }

    /// Does all that is due, in order of time and, at equal times, messages first.
    fn run_due(&mut self, now: Instant) {
        loop {
            if let Some(message) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= now) {
                let message = message.remove();
                self.deliver(now, message);
            } else if let Some(notice) = self.notices.first_entry().filter(|entry| entry.key().0 <= now) {
                let notice = notice.remove();
                self.controller.on_notice(now, notice, &mut self.for_controller);
            } else if self.controller.deadline().is_some_and(|due| due <= now) {
                self.controller.on_timer(now, &mut self.for_controller);
            } else if let Some(switch) =
                self.switches.iter().position(|s| s.deadline().is_some_and(|due| due <= now))
            {
                self.switches[switch].on_timer(now, &mut self.for_switch);
                self.collect(now, switch);
            } else {
                return self.update_wake();
            }
            self.hand_out(now);
        }
    }

    fn deliver(&mut self, now: Instant, message: InFlight) {
        let (InFlight::Up(conn, _) | InFlight::Down(conn, _)) = message;
        // Otherwise its connection is gone.
        let Some(switch) = self.switch_of(conn) else { return };
        match message {
            InFlight::Up(conn, message) => {
                self.controller.on_message(now, conn, message, &mut self.for_controller);
            }
            InFlight::Down(_, message) => {
                self.switches[switch].on_message(now, &message, &mut self.for_switch);
                self.collect(now, switch);
            }
        }
    }

    fn switch_of(&self, conn: ConnId) -> Option<usize> {
        self.connections.iter().position(|of| of.as_ref().is_some_and(|of| of.id == conn))
    }

    /// Takes what a switch has put out. Whether a message was among it.
    fn collect(&mut self, now: Instant, switch: usize) -> bool {
        let in_flight = self.in_flight.len();
        for output in self.for_switch.drain() {
            let departure = match output {
                SwitchOutput::Message(message) => {
                    if let Some(connection) = &mut self.connections[switch] {
                        let due = connection.up.send(now, &message, &mut self.scratch);
                        self.sent += 1;
                        self.in_flight.insert((due, self.sent), InFlight::Up(connection.id, message));
                    }
                    continue;
                }
                SwitchOutput::Forward(port, packet) => Departure::By(port, packet),
                SwitchOutput::Normal(in_port, packet) => Departure::Normal(in_port, packet),
                SwitchOutput::Dropped(packet) => Departure::Dropped(packet),
            };
            self.departures.push((switch, departure));
        }
        self.in_flight.len() > in_flight
    }

    /// Takes what the controller has put out.
    fn hand_out(&mut self, now: Instant) {
        let mut closed = Vec::new();
        for output in self.for_controller.drain() {
            match output {
                Output::Send(conn, message) => {
                    let to = self.connections.iter_mut().flatten().find(|of| of.id == conn);
                    if let Some(connection) = to {
                        let due = connection.down.send(now, &message, &mut self.scratch);
                        self.sent += 1;
                        self.in_flight.insert((due, self.sent), InFlight::Down(conn, message));
                    }
                }
                Output::Close(conn) => closed.push(conn),
            }
        }
        self.records.extend(self.for_controller.records().map(|record| (now, record)));
        for conn in closed {
            if let Some(switch) = self.switch_of(conn) {
                self.connections[switch] = None;
                self.switches[switch].connection_lost(now, &mut self.for_switch);
                self.collect(now, switch);
            }
        }
    }
}

/// The lowest entry of every switch: as without `OpenFlow`.
fn normal() -> Body {
    let action = Action::Output { port: PortNo::NORMAL, max_len: 0 };
    Body::FlowMod(FlowMod {
        command: FlowModCommand::Add,
        table_id: 0,
        cookie: 0,
        cookie_mask: 0,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 0,
        buffer_id: NO_BUFFER,
        // Only deletes look at these.
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        flags: FlowModFlags::default(),
        matches: Match::default(),
        instructions: vec![Instruction::ApplyActions(vec![action])],
    })
}
