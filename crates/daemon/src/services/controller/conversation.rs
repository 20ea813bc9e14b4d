//! What a controller is told, as values: what happens in the field can be written down and told again.

use std::collections::BTreeSet;

use bytes::Bytes;
use handfast_assist::sdn::{ApId, ConnId, Controller, Notice, Outbox, Report};
use handfast_core::Instant;
use handfast_wire::openflow::{EthAddr, Message};

/// One thing that a controller is told.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and none is kept")]
#[derive(Clone, Debug)]
pub enum Input {
    /// It begins, at this time of a clock that all controllers share.
    Began(u64),
    /// An operator says that what is known of a station is wrong.
    Forget(EthAddr),
    /// A switch has connected.
    Connected(ConnId),
    /// A switch's connection is gone.
    Disconnected(ConnId),
    /// A switch has said something.
    Message {
        /// Which connection.
        conn: ConnId,
        /// As it came.
        bytes: Bytes,
        /// What it says.
        message: Message,
    },
    /// An access point reports a station.
    Notice(Notice),
    /// An agent begins to speak for an access point, and says which stations that has.
    Hello(ApId, BTreeSet<EthAddr>),
    /// An agent that has said hello reports a station.
    Report(Report),
    /// The controller's deadline has come.
    Timer,
    /// It ends.
    ShutDown,
}

impl Input {
    /// Tells it to a controller.
    pub fn tell(self, now: Instant, controller: &mut Controller, out: &mut Outbox) {
        match self {
            Self::Began(at) => controller.began(at),
            Self::Forget(station) => drop(controller.forget_station(station, out)),
            Self::Connected(conn) => controller.connected(now, conn, out),
            Self::Disconnected(conn) => controller.disconnected(conn, out),
            Self::Message { conn, message, .. } => controller.on_message(now, conn, message, out),
            Self::Notice(notice) => controller.on_notice(now, notice, out),
            Self::Hello(ap, stations) => drop(controller.hello(now, ap, &stations, out)),
            Self::Report(report) => controller.on_report(now, report, out),
            Self::Timer => controller.on_timer(now, out),
            Self::ShutDown => controller.shut_down(out),
        }
    }
}
