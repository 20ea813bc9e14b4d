//! The line socket of a service that is only asked how it does, and told to read its configuration.

use std::collections::BTreeSet;
use std::path::Path;

use handfast_bpf::Network;
use handfast_core::Duration;
use handfast_io::line_socket::{Accepted, Line, LineLimits, LineSocket};
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use serde_json::{Value, json};
use tracing::warn;

/// The longest question has 75 bytes.
const LIMITS: LineLimits = LineLimits { longest_line: 256, most_clients: 16, most_waiting: 64 << 10 };

/// After a failed accept, how long until the next.
pub(super) const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// How does the service do?
    Status,
    /// The configuration is to be read again.
    Reload,
    /// Another daemon is to take over.
    Handover,
    /// The link is about to go.
    Suspend,
    /// The link is back.
    Resume,
    /// These peers are away.
    Away(Network),
    /// They are back.
    Back(Network),
}

impl Question {
    fn parse(line: &Line) -> Option<Self> {
        let Line::Complete(line) = line else { return None };
        let said: Value = serde_json::from_slice(line).ok()?;
        let said = said.as_object()?;
        let event = said.get("event")?.as_str()?;
        if let Some(peers) = said.get("peers").filter(|_| said.len() == 2) {
            let peers = peers.as_str()?.parse().ok()?;
            return match event {
                "away" => Some(Self::Away(peers)),
                "back" => Some(Self::Back(peers)),
                _ => None,
            };
        }
        match Some(event).filter(|_| said.len() == 1)? {
            "status" => Some(Self::Status),
            "reload" => Some(Self::Reload),
            "handover" => Some(Self::Handover),
            "suspend" => Some(Self::Suspend),
            "resume" => Some(Self::Resume),
            _ => None,
        }
    }
}

/// The socket.
pub(super) struct Questions {
    lines: LineSocket,
    to_flush: BTreeSet<SourceId>,
}

impl Questions {
    /// Listens at `path`, for this user only.
    pub(super) fn listen(path: &Path, io: &mut EventLoop) -> std::io::Result<Self> {
        Ok(Self { lines: LineSocket::listen(path, LIMITS, io)?, to_flush: BTreeSet::new() })
    }

    /// Whether a number is that of the socket, or of a client.
    pub(super) fn has(&self, id: SourceId) -> bool {
        id == self.lines.id() || self.lines.has(id)
    }

    /// Takes who has connected. False: it failed, and is to be tried [`ACCEPT_AGAIN`] later.
    pub(super) fn accept(&mut self, io: &mut EventLoop) -> bool {
        loop {
            match self.lines.accept(io) {
                // One that is too much is closed at once.
                Ok(Accepted::Client | Accepted::OneTooMany(_)) => {}
                Ok(Accepted::Nobody) => return true,
                Err(error) => {
                    warn!(%error, "no question can be taken");
                    return false;
                }
            }
        }
    }

    /// Whether a number is the socket's own: somebody has connected.
    pub(super) fn is_listener(&self, id: SourceId) -> bool {
        id == self.lines.id()
    }

    /// Reads once from a client: what it asks, a question or nothing sensible for each line.
    pub(super) fn read(&mut self, id: SourceId) -> (Vec<Option<Question>>, ReadOutcome) {
        let (lines, outcome) = self.lines.read(id);
        (lines.iter().map(|(_, line)| Question::parse(line)).collect(), outcome)
    }

    /// Answers a client's line.
    pub(super) fn answer(&mut self, id: SourceId, answer: Option<&Value>) {
        let refused = json!({"error": "expected {\"event\": \"status\"} or {\"event\": \"reload\"}"});
        self.lines.answer(id, answer.unwrap_or(&refused));
        self.to_flush.insert(id);
    }

    /// After what a client has said was answered.
    pub(super) fn read_on(&mut self, id: SourceId, outcome: ReadOutcome) -> ReadOutcome {
        if outcome == ReadOutcome::End {
            // The client may have closed only its side.
            self.lines.close(id);
        }
        outcome
    }

    /// There is room for more to a client.
    pub(super) fn is_writable(&mut self, id: SourceId) {
        self.to_flush.insert(id);
    }

    /// Gives the kernel what it takes.
    pub(super) fn flush(&mut self) {
        while let Some(id) = self.to_flush.pop_first() {
            self.lines.flush(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_questions_are_any() {
        let parse = |text: &str| Question::parse(&Line::Complete(text.as_bytes().to_vec()));
        assert_eq!(parse("{\"event\": \"status\"}"), Some(Question::Status));
        assert_eq!(parse("{\"event\":\"reload\"}"), Some(Question::Reload));
        assert_eq!(parse("{\"event\":\"handover\"}"), Some(Question::Handover));
        assert_eq!(parse("{\"event\":\"suspend\"}"), Some(Question::Suspend));
        assert_eq!(parse("{\"event\":\"resume\"}"), Some(Question::Resume));
        let peers = "192.0.2.0/24".parse().unwrap();
        assert_eq!(parse("{\"event\": \"away\", \"peers\": \"192.0.2.0/24\"}"), Some(Question::Away(peers)));
        assert_eq!(parse("{\"event\": \"back\", \"peers\": \"192.0.2.9/24\"}"), Some(Question::Back(peers)));
        for other in [
            "",
            "{}",
            "status",
            "{\"event\": \"forget\"}",
            "{\"event\": \"status\", \"a\": 1}",
            "[1]",
            "{\"event\": \"away\"}",
            "{\"event\": \"away\", \"peers\": \"host\"}",
            "{\"event\": \"away\", \"peers\": \"::\", \"a\": 1}",
            "{\"event\": \"status\", \"peers\": \"::\"}",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
        assert_eq!(Question::parse(&Line::TooLong), None);
    }
}
