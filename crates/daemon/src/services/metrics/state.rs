//! What the service holds: its settings, timers, sockets and the last answer.

use std::collections::BTreeMap;

use handfast_core::Instant;
use handfast_io::net::{TcpListener, TcpStream, UnixStream};
use handfast_io::{Clock, EventLoop, Interest, SourceId, Timers};
use serde_json::Value;
use tracing::info;

use super::settings::Settings;
use crate::process::{ConfigFile, Context, Failure, Log};

/// A client that asks for the counters.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    pub(super) request: Vec<u8>,
    pub(super) answer: Vec<u8>,
    /// How many bytes of `answer` the kernel has taken.
    pub(super) sent: usize,
}

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The next question to the controller.
    Question,
    /// The answer to the last one.
    Answer,
    /// The next accept after one that failed.
    Accept,
    /// A client's last byte.
    Client(SourceId),
}

/// The running service.
pub(super) struct Metrics {
    pub(super) settings: Settings,
    pub(super) file: ConfigFile,
    pub(super) log: Log,
    pub(super) timers: Timers<Due>,
    pub(super) listener: TcpListener,
    pub(super) listener_id: SourceId,
    /// The connection on which the controller was asked, and what it has answered so far.
    pub(super) question: Option<(SourceId, UnixStream, Vec<u8>)>,
    /// The last answer; [`None`]: there was none.
    pub(super) status: Option<(Instant, Value)>,
    /// Whether it was logged that the controller answers, or that it does not.
    pub(super) logged: Option<bool>,
    pub(super) clients: BTreeMap<SourceId, Client>,
}

impl Metrics {
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let mut listener =
            TcpListener::bind(settings.listen).context(|| format!("listen at {}", settings.listen))?;
        let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
        let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
        info!(%listen, association = %settings.association_socket.display(), "started");
        let mut timers = Timers::default();
        timers.set(Due::Question, Some(Clock::SYSTEM.now()));
        let (question, status, logged, clients) = (None, None, None, BTreeMap::new());
        Ok(Self { settings, file, log, timers, listener, listener_id, question, status, logged, clients })
    }
}
