//! The running service: what it hears of peers and of the signal, and what it tells the kernel.

use std::collections::BTreeSet;

use handfast_assist::iosl::network::{Change, Signal};
use handfast_bpf::{Network, Receiver, Sender};
use handfast_core::{Duration, Instant};
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId, Timers, caps_timeout, index_of, network_cookie};
use serde_json::{Value, json};
use tracing::{debug, error, info, warn};

use super::absences::{Absences, Who};
use super::follower::Report;
use super::repeat::{Repeater, Window};
use super::settings::Settings;
use super::source::Source;
use crate::process::{ConfigFile, Context, Failure, Log, log_changes, reread};
use crate::services::questions::{ACCEPT_AGAIN, Question, Questions};
use crate::services::{Configured, Running, unobstructed};

/// The kernel believes for so long that somebody is away. A daemon that hangs leaves nobody frozen.
const BELIEVED: Duration = Duration::from_secs(2);
/// How often it is told again.
const RENEW: Duration = Duration::from_millis(500);

/// `[iosl]` VI.A: "three duplicate ACKs".
const REPEATED: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Renewal,
    /// Somebody is away for too long.
    Longest,
    Signal,
    /// The radio is asked for its signal.
    Report,
    Questions,
}

/// The service.
pub(super) struct Freeze {
    settings: Settings,
    sender: Sender,
    receiver: Option<(Receiver, Repeater)>,
    absences: Absences,
    signal: Option<(Signal, Source)>,
    questions: Questions,
    timers: Timers<Due>,
    log: Log,
    file: ConfigFile,
}

impl Freeze {
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        io: &mut EventLoop,
    ) -> Result<Self, String> {
        unobstructed(&settings)?;
        let system = |failure: Failure| format!("error: {failure}");
        let signal = match &settings.signal {
            None => None,
            Some(of) => {
                let source = Source::open(&of.source, io).map_err(|error| format!("error: {error}"))?;
                Some((Signal::new(Settings::radio(), of.noise), source))
            }
        };
        let questions = Questions::listen(&settings.socket, io)
            .context(|| format!("socket {}", settings.socket.display()))
            .map_err(system)?;
        let wrong = |error: String| format!("error: {error}");
        let network = network_cookie().context(|| "network namespace".to_owned()).map_err(system)?;
        if !caps_timeout() {
            warn!(
                "connections wait for doubled timeouts after a return: capping them (rto_max) needs Linux 6.15"
            );
        }
        let rto_max_ms = milliseconds(settings.rto_max);
        let (cgroup, is_bounded) = (settings.cgroup()?, settings.cgroup.is_some());
        let mut sender = Sender::attach(&cgroup, is_bounded, rto_max_ms, network).map_err(wrong)?;
        sender.set_longest(milliseconds(settings.longest));
        let receiver = settings.interface.as_deref().map(receiving).transpose().map_err(wrong)?;
        let (absences, timers) = (Absences::default(), Timers::default());
        let this = Self { settings, sender, receiver, absences, signal, questions, timers, log, file };
        this.settings.peers.iter().try_for_each(|peers| this.add_peers(*peers)).map_err(wrong)?;
        info!(connections = this.sender.counters().map_or(0, |counters| counters.adopted), "started");
        Ok(this)
    }

    fn add_peers(&self, peers: Network) -> Result<(), String> {
        self.sender.add_peers(peers)?;
        self.receiver.as_ref().map_or(Ok(()), |(receiver, _)| receiver.add_peers(peers))
    }

    fn now() -> Instant {
        Clock::SYSTEM.now()
    }

    /// These are away, or about to go.
    fn leave(&mut self, peers: Network, who: Who) -> Value {
        let now = Self::now();
        if !self.absences.begin(peers, who, now + self.settings.longest) {
            return json!({"error": "too many are away"});
        }
        let told = self.tell(peers, now).and_then(|()| self.sender.freeze());
        let told = told.and_then(|()| self.repeat(peers, Window::Zero, 1));
        self.timers.set_by(Due::Renewal, now + RENEW);
        info!(%peers, ?who, "away");
        answer(told)
    }

    /// These are back.
    fn come(&mut self, peers: Network, who: Who) -> Value {
        let is_back = self.absences.end(peers, who);
        let told = if is_back { self.thaw(&[peers]) } else { Ok(()) };
        info!(%peers, ?who, is_back, "back");
        answer(told)
    }

    /// Somebody says that these are away.
    fn on_away(&mut self, named: Network) -> Value {
        let meant = self.settings.meant(named);
        if meant.is_empty() {
            return json!({"error": "no peer of the file is in it, and it is in none"});
        }
        all(meant.into_iter().map(|peers| self.leave(peers, Who::Command)))
    }

    /// The same, that they are back.
    fn on_back(&mut self, named: Network) -> Value {
        let away = self.absences.within(named, Who::Command);
        if away.is_empty() {
            return json!({"error": "nobody in it was said to be away, or that was too long ago"});
        }
        all(away.into_iter().map(|peers| self.come(peers, Who::Command)))
    }

    /// Has their connections go on at once.
    fn thaw(&self, back: &[Network]) -> Result<(), String> {
        for peers in back {
            let keep = self.settings.peers.contains(peers);
            self.sender.set_back(*peers, keep)?;
            if let Some((receiver, _)) = &self.receiver {
                receiver.set_back(*peers, keep)?;
                self.repeat(*peers, Window::AsItWas, REPEATED)?;
            }
        }
        self.sender.kick()
    }

    /// Says again what connections have acknowledged last.
    fn repeat(&self, peers: Network, window: Window, times: usize) -> Result<(), String> {
        let Some((receiver, repeater)) = &self.receiver else { return Ok(()) };
        for last in receiver.last_segments(peers)? {
            for _ in 0..times {
                if let Err(error) = repeater.send(&last, window) {
                    debug!(%error, remote = %last.remote, "an acknowledgment not repeated");
                }
            }
        }
        Ok(())
    }

    fn tell(&self, peers: Network, now: Instant) -> Result<(), String> {
        let until = self.absences.until(peers, now + BELIEVED).as_nanos();
        self.sender.set_away(peers, until)?;
        self.receiver.as_ref().map_or(Ok(()), |(receiver, _)| receiver.set_away(peers, until))
    }

    /// Those that are no peers any more, and parts of them, are back by whoever has said that they are away.
    fn drop_peers(&mut self, before: &BTreeSet<Network>) -> Result<(), String> {
        let parts = self.absences.networks().filter(|away| !self.settings.meant(*away).contains(away));
        let left: BTreeSet<_> = before.difference(&self.settings.peers).copied().chain(parts).collect();
        for peers in &left {
            self.absences.end(*peers, Who::Signal);
            self.absences.end(*peers, Who::Command);
        }
        self.thaw(&left.into_iter().collect::<Vec<_>>())
    }

    fn renew(&mut self, now: Instant) {
        let away: Vec<_> = self.absences.networks().collect();
        let told = away.iter().try_for_each(|peers| self.tell(*peers, now));
        if let Err(error) = told.and_then(|()| if away.is_empty() { Ok(()) } else { self.sender.freeze() }) {
            error!(error, "the kernel does not hear who is away");
        }
        if !away.is_empty() {
            self.timers.set(Due::Renewal, Some(now + RENEW));
        }
    }

    fn expire(&mut self, now: Instant) {
        let late = self.absences.expire(now);
        if !late.is_empty() {
            let peers: Vec<String> = late.iter().map(Network::to_string).collect();
            warn!(?peers, "away for too long: taken to be back");
        }
        if let Err(error) = self.thaw(&late) {
            error!(error, "the kernel does not hear who is back");
        }
    }

    /// All peers of the file are behind the radio.
    fn on_change(&mut self, change: Option<Change>) {
        let Some(change) = change else { return };
        for peers in self.settings.peers.clone() {
            let done = match change {
                Change::Away => self.leave(peers, Who::Signal),
                Change::Back => self.come(peers, Who::Signal),
            };
            if let Some(error) = done["error"].as_str() {
                error!(%peers, error, "the kernel does not hear of the signal");
            }
        }
    }

    fn read_signal(&mut self, io: &mut EventLoop) {
        let reports = self.signal.as_mut().map_or_else(Vec::new, |(_, source)| source.read(io));
        self.on_reports(reports);
    }

    fn on_reports(&mut self, reports: Vec<Result<Report, String>>) {
        let (mut changes, mut senseless) = (Vec::new(), None);
        for report in reports {
            match (report, &mut self.signal) {
                (Ok(power), Some((signal, _))) => changes.extend(signal.on_report(Self::now(), power)),
                (report, _) => senseless = senseless.or(report.err()),
            }
        }
        if let Some(error) = senseless {
            warn!(error, "a report of the signal makes no sense");
        }
        // Of several that came at once the last one holds.
        self.on_change(changes.pop());
    }

    fn read_question(&mut self, id: SourceId) -> ReadOutcome {
        let (asked, outcome) = self.questions.read(id);
        for question in asked {
            let answer = question.map(|question| match question {
                Question::Status => self.status(),
                Question::Away(peers) => self.on_away(peers),
                Question::Back(peers) => self.on_back(peers),
                Question::Reload => {
                    self.reload();
                    json!({"ok": true, "mode": "act"})
                }
                Question::Handover | Question::Suspend | Question::Resume => {
                    json!({"error": "it freezes connections, and has no sessions"})
                }
            });
            self.questions.answer(id, answer.as_ref());
        }
        self.questions.read_on(id, outcome)
    }

    fn accept(&mut self, io: &mut EventLoop) {
        if !self.questions.accept(io) {
            self.timers.set(Due::Questions, Some(Self::now() + ACCEPT_AGAIN));
        }
    }
}

fn receiving(interface: &str) -> Result<(Receiver, Repeater), String> {
    let wrong = |error: std::io::Error| format!("interface {interface}: {error}");
    let receiver = Receiver::attach(index_of(interface).map_err(wrong)?)?;
    Ok((receiver, Repeater::open(interface).map_err(wrong)?))
}

fn milliseconds(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

/// The first error; each of them was told.
fn all(answers: impl Iterator<Item = Value>) -> Value {
    let wrong = answers.filter(|answer| answer.get("error").is_some()).collect::<Vec<_>>();
    wrong.into_iter().next().unwrap_or_else(|| json!({"ok": true}))
}

fn answer(told: Result<(), String>) -> Value {
    match told {
        Ok(()) => json!({"ok": true}),
        Err(error) => json!({"error": error}),
    }
}

impl Running for Freeze {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if self.signal.as_ref().is_some_and(|(_, source)| source.id() == id) {
            self.read_signal(io);
        } else if self.questions.is_listener(id) {
            self.accept(io);
        } else if self.questions.has(id) {
            return self.read_question(id);
        }
        ReadOutcome::Nothing
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            if self.questions.has(id) {
                self.questions.is_writable(id);
            }
        }
        self.questions.flush();
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.set(Due::Longest, self.absences.deadline());
        self.timers.set(Due::Signal, self.signal.as_ref().and_then(|(signal, _)| signal.deadline()));
        self.timers.set(Due::Report, self.signal.as_ref().and_then(|(_, source)| source.deadline()));
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.deadline();
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Renewal => self.renew(now),
                Due::Longest => self.expire(now),
                Due::Signal => {
                    let change = self.signal.as_mut().and_then(|(signal, _)| signal.on_timer(now));
                    self.on_change(change);
                }
                Due::Report => {
                    let reports =
                        self.signal.as_mut().map_or_else(Vec::new, |(_, source)| source.on_timer(io));
                    self.on_reports(reports);
                }
                Due::Questions => self.accept(io),
            }
        }
    }

    fn reload(&mut self) {
        let Some((mut new, _)) = reread(&mut self.file, Settings::parse) else { return };
        let old = self.settings.clone();
        let rest = Settings { peers: old.peers.clone(), longest: old.longest, ..new.clone() };
        if rest != old {
            warn!("all but peers and `longest` stays as it is until the daemon is started again");
        }
        new = Settings { peers: new.peers, longest: new.longest, ..old };
        log_changes(&self.settings.plan(), &new.plan());
        self.sender.set_longest(milliseconds(new.longest));
        let old = std::mem::replace(&mut self.settings, new);
        let gone = self.drop_peers(&old.peers);
        let come = self.settings.peers.difference(&old.peers).try_for_each(|peers| self.add_peers(*peers));
        match gone.and(come) {
            Ok(()) => info!("configuration applied"),
            Err(error) => error!(error, "the kernel does not hear of the peers"),
        }
    }

    fn status(&self) -> Value {
        let counters = self.sender.counters().unwrap_or_default();
        let mut status = json!({
            "ok": true,
            "mode": "act",
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "away": self.absences.networks().map(|peers| peers.to_string()).collect::<Vec<_>>(),
            "counters": {
                "connections_adopted": counters.adopted,
                "connections_frozen": counters.frozen,
                "connections_thawed": counters.thawed,
                "timeouts_without_effect": counters.timeouts,
            },
            "log_lines_dropped": self.log.dropped(),
        });
        if let Some((receiver, _)) = &self.receiver {
            status["counters"]["windows_closed"] = receiver.closed().unwrap_or_default().into();
        }
        if let Some((signal, _)) = &self.signal {
            for (name, count) in signal.counters().totals() {
                status["counters"][name] = count.into();
            }
        }
        status
    }

    fn stop(&mut self, _: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        let away: Vec<_> = self.absences.networks().collect();
        if let Err(error) = self.thaw(&away) {
            error!(error, "the kernel does not hear who is back; it forgets that within 2 s");
        }
        Ok(())
    }
}
