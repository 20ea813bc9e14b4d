//! `handfastd metrics`: the controller's counters for Prometheus, over HTTP on a loopback address.
//!
//! At an interval it asks the association socket for `status`, as any client may, and keeps the answer. It touches no switch
//! and no station. Clients, their requests and their time are bounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Command;
use handfast_core::{Duration, Instant};
use handfast_document::{Checked, DocumentError, Located, Problem, TimeSpan, problem};
use handfast_io::net::{TcpListener, TcpStream, UnixStream};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::DeTable;
use tracing::{info, warn};

use super::{Configured, Running, Service, Start, Table};
use crate::process::{ConfigFile, Context, Failure, Level, Log, log_changes, parse, port_obstacle, reread};

/// The registry's entry.
pub(super) struct MetricsService;

const NAME: &str = "metrics";
const LISTEN: &str = "127.0.0.1:9653";
const INTERVAL: Duration = Duration::from_secs(5);
const QUESTION: &[u8] = b"{\"event\": \"status\"}\n";
/// What the controller has for its answer, and how long that may get.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: usize = 1 << 20;
/// Clients at once, what each has from its connection to its last byte, and how long its request may get.
const MOST_CLIENTS: usize = 16;
const CLIENT_WITHIN: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: usize = 8 << 10;
/// After a failed accept, how long until the next.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// The page while the controller does not answer: old counters are not shown.
const DOWN: &str = "# TYPE handfastd_up gauge\nhandfastd_up 0\n";

const HELP: &str = "\
It reads `association_socket` of FILE, and the table [metrics], which may be missing:

    [metrics]
    listen = \"127.0.0.1:9653\"
    interval = \"5s\"

SIGTERM and SIGINT end it with exit code 0. At SIGHUP it reads FILE again; one that is wrong changes nothing.";

impl Service for MetricsService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(NAME)
    }

    fn command(&self, command: Command) -> Command {
        command
            .about("Serves the counters of a controller to Prometheus, on a loopback address")
            .after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, _: bool) -> Result<Box<dyn Configured>, String> {
        let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        Ok(Box::new(settings))
    }
}

/// The part of the file that is read; other keys are the controller's.
#[derive(Deserialize)]
struct File {
    association_socket: PathBuf,
    #[serde(default)]
    metrics: MetricsTable,
}

/// `[metrics]`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsTable {
    /// Where Prometheus connects. Default: [`LISTEN`].
    listen: Option<Located<String>>,
    /// How often the controller is asked. Default: [`INTERVAL`].
    interval: Option<Located<TimeSpan>>,
}

/// A configuration that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Settings {
    association_socket: PathBuf,
    listen: SocketAddr,
    interval: Duration,
}

impl Settings {
    fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let file = File::deserialize(toml::Deserializer::from(document));
        let File { association_socket, metrics } = file.map_err(|error| problem(&error, &[]))?;
        let listen = metrics.listen.unwrap_or_else(|| Located { span: 0..0, value: LISTEN.to_owned() });
        let loopback = listen.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
        let listen = loopback.ok_or_else(|| {
            let title = format!("`{}` is not a loopback address with a port", listen.escape_debug());
            Problem::at(listen.span.clone(), title)
                .expected(format!("expected one such as \"{LISTEN}\" or \"[::1]:9653\""))
        })?;
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(3600));
        let interval = match metrics.interval {
            Some(given) if !(least..=most).contains(&given.0) => {
                return Err(Problem::at(given.span, format!("expected a time from {least} to {most}")));
            }
            given => given.map_or(INTERVAL, |given| given.0),
        };
        Ok(Self { association_socket, listen, interval })
    }
}

impl Configured for Settings {
    fn plan(&self) -> String {
        let (listen, socket) = (self.listen, self.association_socket.display());
        format!("serves http://{listen}/metrics\nasks {socket} every {}\n", self.interval)
    }

    fn log_level(&self) -> Level {
        Level::Info
    }

    fn acts(&self) -> bool {
        false
    }

    fn control_socket(&self) -> Option<&Path> {
        None
    }

    fn obstacles(&self) -> Vec<String> {
        port_obstacle(self.listen).into_iter().collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, io, .. } = start;
        let metrics = Metrics::start((*self).clone(), file, log, io).map_err(|failure| {
            super::unobstructed(&*self).err().unwrap_or_else(|| format!("error: {failure}"))
        })?;
        Ok(Box::new(metrics))
    }
}

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
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
struct Metrics {
    settings: Settings,
    file: ConfigFile,
    log: Log,
    timers: Timers<Due>,
    listener: TcpListener,
    listener_id: SourceId,
    /// The connection on which the controller was asked, and what it has answered so far.
    question: Option<(SourceId, UnixStream, Vec<u8>)>,
    /// The last answer; [`None`]: there was none.
    status: Option<(Instant, Value)>,
    /// Whether it was logged that the controller answers, or that it does not.
    logged: Option<bool>,
    clients: BTreeMap<SourceId, Client>,
}

/// A client that asks for the counters.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// How many bytes of `answer` the kernel has taken.
    sent: usize,
}

impl Metrics {
    fn start(settings: Settings, file: ConfigFile, log: Log, io: &mut EventLoop) -> Result<Self, Failure> {
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

    /// Asks the controller, unless an answer is still missing.
    fn ask(&mut self, io: &mut EventLoop, now: Instant) {
        self.timers.set(Due::Question, Some(now + self.settings.interval));
        if self.question.is_some() {
            return;
        }
        self.timers.set(Due::Answer, Some(now + ANSWER_WITHIN));
        let asked = UnixStream::connect(&self.settings.association_socket).and_then(|mut stream| {
            let id = io.add(&mut stream, Interest::READABLE)?;
            // A new connection has room for one short line.
            stream.write_all(QUESTION)?;
            Ok((id, stream, Vec::new()))
        });
        match asked {
            Ok(question) => self.question = Some(question),
            Err(error) => self.answered(Err(error)),
        }
    }

    /// The controller has answered, or has not.
    fn answered(&mut self, answer: io::Result<Value>) {
        self.question = None;
        self.timers.set(Due::Answer, None);
        let answers = answer.is_ok();
        if self.logged.replace(answers) != Some(answers) {
            match &answer {
                Ok(_) => info!("the controller answers"),
                Err(error) => warn!(%error, "the controller does not answer"),
            }
        }
        self.status = answer.ok().map(|status| (Clock::SYSTEM.now(), status));
    }

    /// Reads once from the controller.
    fn read_answer(&mut self) -> ReadOutcome {
        let Some((_, stream, answer)) = &mut self.question else { return ReadOutcome::Nothing };
        let outcome = read(stream, answer, LONGEST_ANSWER);
        let line = answer.iter().position(|&byte| byte == b'\n').map(|end| &answer[..end]);
        let parsed = line.map(|line| serde_json::from_slice(line).map_err(io::Error::from));
        match (parsed, outcome) {
            (Some(parsed), _) => self.answered(parsed),
            (None, Ok(outcome @ (ReadOutcome::Some | ReadOutcome::Nothing))) => return outcome,
            (None, Ok(ReadOutcome::End)) => self.answered(Err(io::ErrorKind::UnexpectedEof.into())),
            (None, Err(error)) => self.answered(Err(error)),
        }
        ReadOutcome::Nothing
    }

    fn accept(&mut self, io: &mut EventLoop) {
        loop {
            let accepted = match self.listener.accept() {
                // One that is too much is closed at once.
                Ok(_) if self.clients.len() >= MOST_CLIENTS => continue,
                Ok((mut stream, _)) => {
                    io.add(&mut stream, Interest::READABLE | Interest::WRITABLE).map(|id| {
                        let client = Client { stream, request: Vec::new(), answer: Vec::new(), sent: 0 };
                        self.clients.insert(id, client);
                        self.timers.set(Due::Client(id), Some(Clock::SYSTEM.now() + CLIENT_WITHIN));
                    })
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // What ends one connection before it is taken does not concern the next.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => Err(error),
            };
            if let Err(error) = accepted {
                warn!(%error, "no connection can be taken");
                return self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
            }
        }
    }

    /// Reads once from a client, and answers a request that is complete.
    fn read_request(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let page = self.status.as_ref().map(|(at, status)| page(Clock::SYSTEM.now().since(*at), status));
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.answer.is_empty()) else {
            return ReadOutcome::Nothing;
        };
        let outcome = read(&mut client.stream, &mut client.request, LONGEST_REQUEST);
        let complete = client.request.windows(4).any(|end| end == b"\r\n\r\n");
        match outcome {
            _ if complete => {
                client.answer = respond(&client.request, page.as_deref().unwrap_or(DOWN));
                io.write_soon(id);
            }
            Ok(outcome @ (ReadOutcome::Some | ReadOutcome::Nothing)) => return outcome,
            Ok(ReadOutcome::End) | Err(_) => self.close(id),
        }
        ReadOutcome::Nothing
    }

    fn close(&mut self, id: SourceId) {
        self.clients.remove(&id);
        self.timers.set(Due::Client(id), None);
    }
}

impl Running for Metrics {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if id == self.listener_id {
            self.accept(io);
            return ReadOutcome::Nothing;
        }
        if self.question.as_ref().is_some_and(|(asked, ..)| *asked == id) {
            return self.read_answer();
        }
        self.read_request(io, id)
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            while client.sent < client.answer.len() {
                match client.stream.write(&client.answer[client.sent..]) {
                    Ok(written) => client.sent += written,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => client.sent = client.answer.len(),
                }
            }
            if !client.answer.is_empty() && client.sent == client.answer.len() {
                self.close(id);
            }
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Question => self.ask(io, now),
                Due::Answer => self.answered(Err(io::ErrorKind::TimedOut.into())),
                Due::Accept => self.accept(io),
                Due::Client(id) => self.close(id),
            }
        }
    }

    fn reload(&mut self) {
        let Some((mut new, _)) = reread(&mut self.file, Settings::parse) else { return };
        if new.listen != self.settings.listen {
            warn!("listen stays as it is until the daemon is started again");
            new.listen = self.settings.listen;
        }
        log_changes(&self.settings.plan(), &new.plan());
        self.settings = new;
        info!("configuration applied");
    }

    fn status(&self) -> Value {
        json!({"ok": true, "plan": self.settings.plan().lines().collect::<Vec<_>>(),
               "up": self.status.is_some(), "clients": self.clients.len(),
               "log_lines_dropped": self.log.dropped()})
    }

    fn stop(&mut self, _: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        Ok(())
    }
}

/// Reads once; `most`: how much may be kept.
fn read(from: &mut impl Read, into: &mut Vec<u8>, most: usize) -> io::Result<ReadOutcome> {
    let mut chunk = [0; 4096];
    match from.read(&mut chunk) {
        Ok(0) => Ok(ReadOutcome::End),
        Ok(read) => {
            into.extend_from_slice(&chunk[..read]);
            let fits = into.len() <= most;
            if fits { Ok(ReadOutcome::Some) } else { Err(io::ErrorKind::FileTooLarge.into()) }
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(ReadOutcome::Nothing),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(ReadOutcome::Some),
        Err(error) => Err(error),
    }
}

/// The answer to a request (RFC 9112 §3): the page, or why not.
fn respond(request: &[u8], page: &str) -> Vec<u8> {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (status, body) = match words[..] {
        [b"GET", b"/metrics", version] if version.starts_with(b"HTTP/1.") => ("200 OK", page),
        [b"GET", _, version] if version.starts_with(b"HTTP/1.") => {
            ("404 Not Found", "the counters are at /metrics\n")
        }
        [_, _, version] if version.starts_with(b"HTTP/1.") => ("405 Method Not Allowed", "expected GET\n"),
        _ => ("400 Bad Request", "expected HTTP/1.1\n"),
    };
    // Prometheus' text format has this version.
    let kind = "Content-Type: text/plain; version=0.0.4; charset=utf-8";
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    let len = body.len();
    format!("HTTP/1.1 {status}\r\n{allow}{kind}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// A status in Prometheus' text format. `age`: how old it is.
fn page(age: Duration, status: &Value) -> String {
    let mut page = String::new();
    let mut metric = |name: &str, kind: &str, samples: &[(String, f64)]| {
        // Names come from a socket: those that the format does not have are left out.
        let known =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !known || samples.is_empty() {
            return;
        }
        // A string takes all that is written to it.
        let _ = writeln!(page, "# TYPE handfastd_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(page, "handfastd_{name}{labels} {value}");
        }
    };
    let one = |value: f64| [(String::new(), value)];
    let number = |value: &Value| value.as_u64().map(|count| count as f64);
    metric("up", "gauge", &one(1.0));
    metric("status_age_seconds", "gauge", &one(age.as_secs_f64()));
    metric("acts", "gauge", &one(f64::from(u8::from(status["mode"] == "act"))));
    metric("switches", "gauge", &one(status["switches"].as_array().map_or(0, Vec::len) as f64));
    for name in ["held_bytes", "held_datagram_bytes", "connections"] {
        metric(name, "gauge", &number(&status[name]).map(one).into_iter().flatten().collect::<Vec<_>>());
    }
    let objects = |value: &Value| value.as_object().cloned().unwrap_or_else(Map::new);
    for (name, key) in [("table_entries", "entries"), ("table_most", "most")] {
        let of = |(switch, table): (&String, &Value)| Some((label("switch", switch), number(&table[key])?));
        let samples: Vec<_> = objects(&status["tables"]).iter().filter_map(of).collect();
        metric(name, "gauge", &samples);
    }
    let own = ["lines", "malformed_lines", "links_closed", "unsendable", "log_lines_dropped"];
    let own = own.map(|name| (name.to_owned(), status[name].clone()));
    for (name, count) in own.into_iter().chain(objects(&status["counters"])) {
        let samples: Vec<_> = match &count {
            Value::Object(kinds) => {
                kinds.iter().filter_map(|(kind, count)| Some((label("kind", kind), number(count)?))).collect()
            }
            count => number(count).map(one).into_iter().flatten().collect(),
        };
        metric(&format!("{name}_total"), "counter", &samples);
    }
    page
}

/// A label; quotation marks, backslashes and line ends are escaped.
fn label(name: &str, value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{{{name}=\"{escaped}\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_controllers_or_its_own() {
        let example = include_str!("../../../../examples/handfastd.toml");
        let settings = Settings::parse(example, "x").unwrap();
        assert_eq!((settings.listen, settings.interval), (LISTEN.parse().unwrap(), INTERVAL));
        let own = "association_socket = \"/s\"\n[metrics]\nlisten = \"[::1]:80\"\ninterval = \"1s\"";
        let settings = Settings::parse(own, "x").unwrap();
        assert_eq!(settings.plan(), "serves http://[::1]:80/metrics\nasks /s every 1s\n");
    }

    #[test]
    fn errors_point_at_the_line() {
        for (table, says) in [
            ("listen = \"0.0.0.0:9653\"", "is not a loopback address with a port"),
            ("listen = \"localhost\"", "is not a loopback address with a port"),
            ("interval = \"10ms\"", "expected a time from 1s to"),
            ("intervall = \"10s\"", "unknown"),
        ] {
            let text = format!("association_socket = \"/s\"\n[metrics]\n{table}\n");
            let error = Settings::parse(&text, "x").unwrap_err();
            assert!(error.to_string().contains(says), "{table}: {error}");
            assert_eq!(error.line, 3, "{table}: {error}");
        }
        assert!(Settings::parse("", "x").unwrap_err().to_string().contains("association_socket"));
    }

    #[test]
    fn a_status_becomes_a_page() {
        let status = json!({
            "mode": "act", "held_bytes": 7, "switches": ["0000000000000001"], "lines": 3,
            "tables": {"0000000000000001": {"entries": 12, "most": null}},
            "counters": {"held": 5, "dropped_other": {"a\"rp": 2, "udp": 0}, "no name": 1},
        });
        let expected = "\
# TYPE handfastd_up gauge
handfastd_up 1
# TYPE handfastd_status_age_seconds gauge
handfastd_status_age_seconds 0.25
# TYPE handfastd_acts gauge
handfastd_acts 1
# TYPE handfastd_switches gauge
handfastd_switches 1
# TYPE handfastd_held_bytes gauge
handfastd_held_bytes 7
# TYPE handfastd_table_entries gauge
handfastd_table_entries{switch=\"0000000000000001\"} 12
# TYPE handfastd_lines_total counter
handfastd_lines_total 3
# TYPE handfastd_dropped_other_total counter
handfastd_dropped_other_total{kind=\"a\\\"rp\"} 2
handfastd_dropped_other_total{kind=\"udp\"} 0
# TYPE handfastd_held_total counter
handfastd_held_total 5
";
        assert_eq!(page(Duration::from_millis(250), &status), expected);
    }

    #[test]
    fn only_a_get_of_the_page_gets_it() {
        for (line, status) in [
            ("GET /metrics HTTP/1.1", "200 OK"),
            ("GET / HTTP/1.0", "404 Not Found"),
            ("POST /metrics HTTP/1.1", "405 Method Not Allowed"),
            ("GET /metrics", "400 Bad Request"),
            ("\u{1}\u{2}", "400 Bad Request"),
        ] {
            let answer = String::from_utf8(respond(format!("{line}\r\n\r\n").as_bytes(), "x 1\n")).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{line}: {answer}");
            assert_eq!(answer.ends_with("\r\n\r\nx 1\n"), status == "200 OK", "{line}");
        }
    }
}
