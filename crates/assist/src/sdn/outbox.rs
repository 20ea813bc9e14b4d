//! What a controller asks of its driver.

use handfast_core::{Bytes, Duration};
use handfast_wire::openflow::Message;

use super::{ApId, DatagramCounts, StationId};

/// A connection to a switch: a number that its driver gives it and uses once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u64);

/// One thing to do.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and none is kept")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this.
    Send(ConnId, Message),
    /// Close the connection; the controller has forgotten it.
    Close(ConnId),
}

/// Why a station event changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// It is about an earlier association.
    Stale,
    /// It was known.
    Duplicate,
    /// No access point has this number.
    UnknownAccessPoint,
    /// There are as many stations as there may be.
    TooManyStations,
    /// It is a gateway or a server, by the configuration or by what it sends.
    Protected,
    /// Its number lies further ahead than an association's can.
    TooFar,
    /// Its access point has said hello: what it says since has a session and a number.
    Unnumbered,
    /// It is of a session that is over, or that never was.
    OldSession,
    /// This number of its session was used.
    Repeated,
    /// Its number lies so far ahead in its session that too much is missing: only another hello mends that.
    Missed,
}

/// Why nothing is done for a station that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unhelped {
    /// That switch has no such port.
    NoPort,
    /// That switch does not take back what it has diverted (`set_field` of metadata, output to its tables).
    NoHandBack,
    /// That switch's table is as good as full.
    NoRoom,
    /// That switch refused an entry: type and code of its error.
    Refused(u16, u16),
    /// As many stations are away as may be.
    TooMany,
    /// Its address is in use in other VLANs as well, and its access point's VLAN is not known.
    Ambiguous,
}

/// What happened, for a log.
#[expect(clippy::large_enum_variant, reason = "they are few, and none is kept")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A switch is ready.
    SwitchReady {
        /// Its connection.
        conn: ConnId,
        /// Its datapath id.
        datapath_id: u64,
    },
    /// A switch that no access point is reached by: nothing is done there.
    SwitchUnknown {
        /// Its datapath id.
        datapath_id: u64,
    },
    /// A switch that somebody else commands: nothing is done there.
    SwitchNotOurs {
        /// Its datapath id.
        datapath_id: u64,
        /// Who, or how that came.
        why: &'static str,
    },
    /// A connection claims to be that of a switch whose connection lives: it is closed.
    SwitchClaimed {
        /// Which connection.
        conn: ConnId,
        /// Whose datapath id it told.
        datapath_id: u64,
    },
    /// An access point's port is not there: its stations are not helped.
    NoPort {
        /// The access point.
        ap: ApId,
    },
    /// A switch's connection is gone.
    SwitchGone {
        /// Its datapath id, if it had said it.
        datapath_id: Option<u64>,
        /// Why.
        why: &'static str,
    },
    /// A switch speaks other versions than 1.3: its connection is closed.
    WrongVersion {
        /// Which connection.
        conn: ConnId,
        /// The highest that it speaks, as on the wire: 1 is 1.0.
        version: u8,
    },
    /// A switch refused something.
    SwitchError {
        /// Its datapath id, if it had said it.
        datapath_id: Option<u64>,
        /// `OFPET_*`.
        kind: u16,
        /// Its code.
        code: u16,
    },
    /// A switch cannot match TCP flags: queues begin with the first held segment there.
    NoHandshakes {
        /// Its datapath id.
        datapath_id: u64,
    },
    /// An access point has said hello.
    Hello {
        /// Which one.
        ap: ApId,
        /// The session that begins.
        session: u64,
        /// How many stations it has.
        stations: usize,
    },
    /// A station is associated.
    Associated {
        /// Who.
        station: StationId,
        /// Where.
        ap: ApId,
        /// The association's number.
        epoch: u64,
    },
    /// A station is away.
    Away {
        /// Who.
        station: StationId,
        /// The association that ended.
        epoch: u64,
    },
    /// A station event that changed nothing.
    Ignored {
        /// Of whom.
        station: StationId,
        /// Why.
        why: Ignored,
    },
    /// All that was held has been sent, and the path leads past the controller again.
    Released {
        /// To whom.
        station: StationId,
        /// Segments.
        segments: u64,
        /// Their frames' bytes.
        bytes: Bytes,
        /// From the report of the association to now.
        took: Duration,
        /// And datagrams, since it left.
        datagrams: DatagramCounts,
    },
    /// It has said something while it was believed to be away.
    Heard {
        /// Who.
        station: StationId,
    },
    /// Nothing is done for it in this absence.
    Unhelped {
        /// Who.
        station: StationId,
        /// Why.
        why: Unhelped,
    },
    /// It was away for too long: what was held is dropped and its rules are gone.
    Expired {
        /// Who.
        station: StationId,
        /// Segments dropped.
        segments: u64,
        /// Datagrams, since it left.
        datagrams: DatagramCounts,
    },
    /// It is back, but the switch to which it is attached is not: what was held for it is dropped.
    Undelivered {
        /// Who.
        station: StationId,
        /// Segments dropped.
        segments: u64,
        /// Datagrams, since it left.
        datagrams: DatagramCounts,
    },
    /// It lost what was held for it to another station.
    Evicted {
        /// Who.
        station: StationId,
        /// Segments dropped.
        segments: u64,
    },
    /// In [`super::Mode::Observe`]: what would have been sent.
    Would {
        /// To which switch.
        datapath_id: u64,
        /// What.
        message: Message,
    },
}

/// Where a controller puts what it asks for. The driver owns it, empties it after every call, and keeps its memory.
#[derive(Debug, Default)]
pub struct Outbox {
    outputs: Vec<Output>,
    records: Vec<Record>,
}

impl Outbox {
    /// What is to be done, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Output> + '_ {
        self.outputs.drain(..)
    }

    /// What happened, in order.
    pub fn records(&mut self) -> impl Iterator<Item = Record> + '_ {
        self.records.drain(..)
    }

    pub(crate) fn send(&mut self, to: ConnId, message: Message) {
        self.outputs.push(Output::Send(to, message));
    }

    pub(crate) fn close(&mut self, conn: ConnId) {
        self.outputs.push(Output::Close(conn));
    }

    pub(crate) fn record(&mut self, record: Record) {
        self.records.push(record);
    }
}
