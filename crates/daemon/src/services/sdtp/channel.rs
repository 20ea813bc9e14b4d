//! The channel to the controller, as an OpenFlow 1.3 switch has it: it connects, says what it is, and tries again when it is lost.

use std::net::SocketAddr;

use handfast_assist::sdtp::{Instruction, Report};
use handfast_core::{Bytes, Duration, Instant};
use handfast_io::net::TcpStream;
use handfast_io::tls::Connector;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId};
use handfast_wire::openflow::{Body, FeaturesReply, Hello, Message, VERSION};
use tracing::{debug, info, warn};

use crate::services::openflow_link::{CHUNK, OpenFlowLink};

/// After so long a silence the controller is asked whether it is there, and after so long it is gone.
const ASK_AFTER: Duration = Duration::from_secs(1);
const GONE_AFTER: Duration = Duration::from_secs(3);
/// Between attempts to connect: at first, and at most. It doubles each time.
const AGAIN_FIRST: Duration = Duration::from_millis(250);
const AGAIN_MOST: Duration = Duration::from_secs(8);
/// What may wait for a controller that does not read: a second of handshakes.
const MOST_WAITING: Bytes = Bytes(2_000_000);
/// The question that the answer to the first report is known by.
const BEGAN: &[u8] = b"began";

/// What the controller says.
pub(super) enum Said {
    /// It is there, and may order.
    Ready,
    /// It is not there any more.
    Gone,
    /// An order, or a packet, or both.
    Instruction(Box<Instruction>),
}

/// The channel.
pub(super) struct Channel {
    controller: SocketAddr,
    /// How the controller proves who it is; [`None`]: not at all.
    tls: Option<Connector>,
    datapath_id: u64,
    link: Option<Link>,
    /// Whether there is to be a connection.
    is_wanted: bool,
    again: Instant,
    backoff: Duration,
    /// Whether the controller knows that this node has begun with no connection.
    has_told: bool,
    chunk: Box<[u8; CHUNK]>,
}

/// A connection.
struct Link {
    id: SourceId,
    stream: OpenFlowLink,
    /// Whether the controller knows who this is.
    is_ready: bool,
    heard: Instant,
    has_asked: bool,
}

impl Channel {
    pub(super) fn new(
        controller: SocketAddr,
        tls: Option<Connector>,
        datapath_id: u64,
        is_wanted: bool,
    ) -> Self {
        let chunk = vec![0; CHUNK].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("its size"));
        let (link, again, backoff) = (None, Instant::ZERO, AGAIN_FIRST);
        Self { controller, tls, datapath_id, link, is_wanted, again, backoff, has_told: false, chunk }
    }

    /// How the controller proves who it is, from the next connection on.
    pub(super) fn tls(&mut self) -> &mut Option<Connector> {
        &mut self.tls
    }

    /// Whether a number is that of its connection.
    pub(super) fn is(&self, id: SourceId) -> bool {
        self.link.as_ref().is_some_and(|link| link.id == id)
    }

    /// Whether the controller is there.
    pub(super) fn is_ready(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_ready)
    }

    /// Whether there is to be a connection from now on.
    pub(super) fn want(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
        if !is_wanted && self.link.take().is_some() {
            info!("controller left");
        }
        (self.again, self.backoff) = (Instant::ZERO, AGAIN_FIRST);
    }

    /// When [`Channel::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.link {
            None => self.is_wanted.then_some(self.again),
            Some(link) if link.has_asked => Some(link.heard + GONE_AFTER),
            Some(link) => Some(link.heard + ASK_AFTER),
        }
    }

    /// What is due: an attempt to connect, a question, or the end of the connection.
    pub(super) fn on_timer(&mut self, io: &mut EventLoop, now: Instant) -> Option<Said> {
        let Some(link) = &mut self.link else {
            if self.is_wanted && now >= self.again {
                self.connect(io, now);
            }
            return None;
        };
        if now >= link.heard + GONE_AFTER {
            return self.lose(&"it is silent");
        }
        if now >= link.heard + ASK_AFTER && !std::mem::replace(&mut link.has_asked, true) && link.is_ready {
            link.say(Body::EchoRequest(bytes::Bytes::new()));
        }
        None
    }

    fn connect(&mut self, io: &mut EventLoop, now: Instant) {
        self.wait(now);
        let connected = TcpStream::connect(self.controller).and_then(|mut stream| {
            let id = io.add(&mut stream, Interest::READABLE | Interest::WRITABLE)?;
            // Handshakes of hosts wait for these messages.
            stream.set_nodelay(true)?;
            let stream = match &self.tls {
                Some(tls) => tls.connect(stream)?,
                None => stream.into(),
            };
            Ok((id, stream))
        });
        match connected {
            Ok((id, stream)) => {
                let mut link = Link {
                    id,
                    stream: OpenFlowLink::new(stream, self.controller),
                    is_ready: false,
                    heard: now,
                    has_asked: false,
                };
                link.say(hello());
                self.link = Some(link);
            }
            Err(error) => debug!(%error, "controller not reached"),
        }
    }

    fn wait(&mut self, now: Instant) {
        self.again = now + self.backoff;
        self.backoff = (self.backoff * 2).min(AGAIN_MOST);
    }

    /// Loud at the first attempt: a certificate that is refused stays refused.
    fn say_unreached(&self, why: &dyn std::fmt::Display) {
        if self.tls.is_some() && self.backoff <= AGAIN_FIRST * 2 {
            warn!(%why, "controller not reached");
        } else {
            debug!(%why, "controller not reached");
        }
    }

    fn lose(&mut self, why: &dyn std::fmt::Display) -> Option<Said> {
        let was_ready = self.link.take().is_some_and(|link| link.is_ready);
        if !was_ready {
            self.say_unreached(why);
            return None;
        }
        warn!(%why, "controller gone: connections that begin are plain TCP");
        self.backoff = AGAIN_FIRST;
        self.wait(Clock::SYSTEM.now());
        Some(Said::Gone)
    }

    /// Reads once; what was said, in order.
    pub(super) fn read(&mut self, said: &mut Vec<Said>) -> ReadOutcome {
        let Some(link) = &mut self.link else { return ReadOutcome::Nothing };
        match link.stream.read(&mut self.chunk) {
            Ok(ReadOutcome::Some) => {
                (link.heard, link.has_asked) = (Clock::SYSTEM.now(), false);
            }
            Ok(outcome) => return outcome,
            Err(error) => {
                said.extend(self.lose(&error));
                return ReadOutcome::Nothing;
            }
        }
        while let Some(link) = &mut self.link {
            match link.stream.next() {
                Ok(Some((bytes, message))) => said.extend(self.hear(&bytes, message)),
                Ok(None) => return ReadOutcome::Some,
                Err(error) => said.extend(self.lose(&error)),
            }
        }
        ReadOutcome::Nothing
    }

    fn hear(&mut self, bytes: &bytes::Bytes, message: Message) -> Option<Said> {
        let link = self.link.as_mut()?;
        match message.body {
            Body::Hello(hello) if !speaks(&hello) => self.lose(&"it does not speak OpenFlow 1.3"),
            Body::FeaturesRequest => {
                let reply = FeaturesReply {
                    datapath_id: self.datapath_id,
                    n_buffers: 0,
                    n_tables: 1,
                    auxiliary_id: 0,
                    capabilities: 0,
                };
                link.answer(message.xid, Body::FeaturesReply(reply));
                Some(self.ready())
            }
            Body::EchoRequest(data) => {
                link.answer(message.xid, Body::EchoReply(data));
                None
            }
            Body::EchoReply(data) => {
                self.has_told |= data.as_ref() == BEGAN;
                None
            }
            Body::Error(error) => {
                warn!(kind = error.kind, code = error.code, "the controller reports an error");
                None
            }
            Body::PacketOut(_) | Body::Unknown { .. } => {
                Instruction::parse(bytes).ok().map(|said| Said::Instruction(Box::new(said)))
            }
            _ => None,
        }
    }

    /// The controller knows who this is.
    fn ready(&mut self) -> Said {
        self.backoff = AGAIN_FIRST;
        let has_told = self.has_told;
        if let Some(link) = &mut self.link {
            link.is_ready = true;
            if !has_told {
                Report::Started.emit().iter().for_each(|bytes| link.stream.push_bytes(bytes));
                link.say(Body::EchoRequest(BEGAN.into()));
            }
        }
        info!(controller = %self.controller, "controller ready");
        Said::Ready
    }

    /// Tells the controller something, if it is there.
    pub(super) fn report(&mut self, report: &Report) {
        if let Some(link) = self.link.as_mut().filter(|link| link.is_ready)
            && let Some(bytes) = report.emit()
        {
            link.stream.push_bytes(&bytes);
        }
    }

    /// Gives the kernel what it takes.
    pub(super) fn flush(&mut self) -> Option<Said> {
        let link = self.link.as_mut()?;
        let Err(error) = link.stream.flush(MOST_WAITING) else { return None };
        self.lose(&error)
    }
}

impl Link {
    fn say(&mut self, body: Body) {
        self.answer(0, body);
    }

    fn answer(&mut self, xid: u32, body: Body) {
        // These have a form on the wire.
        let _ = self.stream.push(&Message { xid, body });
    }
}

/// The greeting (§7.5.1).
pub(in crate::services) fn hello() -> Body {
    Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] })
}

/// Whether who greets so speaks 1.3 too (§6.3.1).
pub(in crate::services) fn speaks(hello: &Hello) -> bool {
    match hello.bitmaps.first() {
        Some(versions) => versions & 1 << VERSION != 0,
        None => hello.version >= VERSION,
    }
}
