//! The notifications of [vho] in a scenario.

use handfast_core::Duration;
use handfast_document::{Checked, Located, Probability, TimeSpan, integer, positive, table};

use super::Config;
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// How often a message is sent again.
    Repeats: u32 = 0..=100
}

table! {
    /// How a station's notifications travel.
    VhoTable {
        /// The probability that a notification is lost, besides what the links lose. Default: 0.
        loss: Probability,
        /// From the event until the notification leaves. Default: "0s".
        delay: TimeSpan,
        /// How often each notification is sent again. Default: 0.
        repeat: Repeats,
        /// How long after the one before. Default: "100ms".
        repeat_after: TimeSpan,
    }
}

/// How a station's notifications of [vho] travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vho {
    /// The probability that a message is lost, besides what the links lose.
    pub loss: f64,
    /// From the event until a message leaves.
    pub delay: Duration,
    /// How often each is sent again.
    pub repeat: u32,
    /// How long after the one before.
    pub repeat_after: Duration,
}

impl Vho {
    /// What the machine is told.
    pub const fn config(&self) -> Config {
        let &Self { loss, delay, repeat, repeat_after } = self;
        Config { loss, delay, repeat, repeat_after }
    }
}

impl Spec for Vho {
    type Table = VhoTable;
    const SEAT: Seat = Seat::Stations;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &VhoTable, _kind: &Located<String>) -> Checked<Self> {
        let Config { loss, delay, repeat, repeat_after } = Config::default();
        let given_after =
            table.repeat_after.as_ref().map(|time| positive(time, "repeat_after")).transpose()?;
        Ok(Self {
            loss: table.loss.as_ref().map_or(loss, |loss| loss.value.0),
            delay: table.delay.as_ref().map_or(delay, |delay| delay.value.0),
            repeat: table.repeat.as_ref().map_or(repeat, |repeat| repeat.value.0),
            repeat_after: given_after.unwrap_or(repeat_after),
        })
    }

    /// None: an [`Agent`] knows packets and links that go up or down, and a notifier needs more. It tells of rate, delay and the
    /// link before, which the driver of the station has, and whether a roam was break-before-make. It tells those who are to send
    /// to the station and have not ended, which only the host knows: a peer that opens a connection does not say whether it will
    /// send. And as a member of a chain it would be shown each packet of its station, of which it needs SYNs only.
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}
