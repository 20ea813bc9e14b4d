//! Where reports of the signal come from: a file, or a Wi-Fi interface.

use std::io;

use handfast_core::{Duration, Instant};
use handfast_io::netlink::Wireless;
use handfast_io::{Clock, EventLoop, SourceId, index_of};

use super::follower::{Follower, Report};
use super::settings;

/// An interface that is gone may come back, with another index.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What says how strong the signal is.
pub(super) enum Source {
    File(Follower),
    Wifi(Wifi),
}

impl Source {
    /// # Errors
    /// Why there are no reports, with the source's name.
    pub(super) fn open(from: &settings::Source, io: &mut EventLoop) -> Result<Self, String> {
        match from {
            settings::Source::File(path) => {
                let follower = Follower::follow(path, io);
                follower.map(Self::File).map_err(|error| format!("{}: {error}", path.display()))
            }
            settings::Source::Interface { name, every } => {
                let wifi = Wifi::open(name, *every, io);
                wifi.map(Self::Wifi).map_err(|error| format!("signal of {name}: {error}"))
            }
        }
    }

    pub(super) fn id(&self) -> SourceId {
        match self {
            Self::File(follower) => follower.id(),
            Self::Wifi(wifi) => wifi.id,
        }
    }

    /// It is readable: what it reports. What makes no sense is an error.
    pub(super) fn read(&mut self, io: &mut EventLoop) -> Vec<Result<Report, String>> {
        match self {
            Self::File(follower) => follower.read().unwrap_or_else(|error| vec![Err(error.to_string())]),
            Self::Wifi(wifi) => wifi.on_change(io),
        }
    }

    /// When [`Source::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::File(_) => None,
            Self::Wifi(wifi) => Some(wifi.next),
        }
    }

    /// What it reports unasked for.
    pub(super) fn on_timer(&mut self, io: &mut EventLoop) -> Vec<Result<Report, String>> {
        match self {
            Self::File(_) => Vec::new(),
            Self::Wifi(wifi) => wifi.look(io),
        }
    }
}

/// A Wi-Fi interface, asked again and again, and whenever an association changes.
pub(super) struct Wifi {
    name: String,
    every: Duration,
    /// [`None`]: the interface is gone.
    radio: Option<Wireless>,
    id: SourceId,
    next: Instant,
}

impl Wifi {
    fn open(name: &str, every: Duration, io: &mut EventLoop) -> io::Result<Self> {
        let radio = Wireless::open(index_of(name)?)?;
        let id = io.add_descriptor(&radio)?;
        Ok(Self { name: name.to_owned(), every, radio: Some(radio), id, next: Clock::SYSTEM.now() })
    }

    /// An association has changed, of this interface or of another one: the signal says.
    fn on_change(&mut self, io: &mut EventLoop) -> Vec<Result<Report, String>> {
        match self.radio.as_mut().map(Wireless::take_changes) {
            Some(Ok(false)) | None => Vec::new(),
            Some(Ok(true)) => self.look(io),
            Some(Err(error)) => vec![Err(format!("{}: {error}", self.name))],
        }
    }

    /// Asks for the signal. Where the interface is gone, so is the signal.
    fn look(&mut self, io: &mut EventLoop) -> Vec<Result<Report, String>> {
        self.next = Clock::SYSTEM.now() + self.every;
        let Some(radio) = &mut self.radio else {
            self.look_again(io);
            return Vec::new();
        };
        match radio.signal() {
            Ok(power) => vec![Ok(power)],
            Err(error) => {
                self.radio = None;
                self.next = self.next.max(Clock::SYSTEM.now() + LOOK_AGAIN);
                vec![Err(format!("{}: {error}", self.name)), Ok(None)]
            }
        }
    }

    fn look_again(&mut self, io: &mut EventLoop) {
        let every = self.every.max(LOOK_AGAIN);
        match Self::open(&self.name, self.every, io) {
            Ok(again) => *self = again,
            Err(_) => self.next = Clock::SYSTEM.now() + every,
        }
    }
}
