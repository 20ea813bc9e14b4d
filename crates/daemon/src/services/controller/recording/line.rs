//! A line of a recording.

use std::collections::BTreeSet;
use std::fmt::Write;

use bytes::Bytes;
use handfast_assist::sdn::{ApId, ConnId, Notice, Output, Report, What};
use handfast_core::Instant;
use handfast_wire::openflow::{EthAddr, Message};
use serde::{Deserialize, Serialize};

use super::redact::redacted;
use crate::conversation::Input;

/// What this is written as; readers refuse others.
pub(super) const VERSION: u32 = 2;

/// One line. Times are nanoseconds of `CLOCK_MONOTONIC`, messages are hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    /// The first one: how the controller was configured.
    Recording {
        version: u32,
        config: String,
    },
    /// What the controller was told.
    Began {
        at: u64,
        began: u64,
    },
    Forget {
        at: u64,
        station: EthAddr,
    },
    Connected {
        at: u64,
        conn: u64,
    },
    Disconnected {
        at: u64,
        conn: u64,
    },
    Message {
        at: u64,
        conn: u64,
        bytes: String,
    },
    Notice {
        at: u64,
        station: EthAddr,
        ap: u32,
        epoch: u64,
        associated: bool,
    },
    Hello {
        at: u64,
        ap: u32,
        stations: BTreeSet<EthAddr>,
    },
    Report {
        at: u64,
        ap: u32,
        session: u64,
        seq: u64,
        station: EthAddr,
        associated: bool,
    },
    Timer {
        at: u64,
    },
    ShutDown {
        at: u64,
    },
    /// What it asked for thereupon, in order.
    Sent {
        conn: u64,
        bytes: String,
    },
    Closed {
        conn: u64,
    },
}

impl Line {
    pub(super) fn of_input(at: Instant, input: &Input) -> Self {
        let at = at.as_nanos();
        match input {
            Input::Began(began) => Self::Began { at, began: *began },
            Input::Forget(station) => Self::Forget { at, station: *station },
            Input::Connected(ConnId(conn)) => Self::Connected { at, conn: *conn },
            Input::Disconnected(ConnId(conn)) => Self::Disconnected { at, conn: *conn },
            Input::Message { conn: ConnId(conn), bytes, message } => {
                Self::Message { at, conn: *conn, bytes: to_text(&redacted(bytes, message)) }
            }
            Input::Notice(Notice { station, ap, epoch, what }) => {
                let associated = *what == What::Associated;
                Self::Notice { at, station: *station, ap: ap.0, epoch: *epoch, associated }
            }
            Input::Hello(ap, stations) => Self::Hello { at, ap: ap.0, stations: stations.clone() },
            Input::Report(Report { ap, session, seq, station, what }) => {
                let (session, seq, associated) = (*session, *seq, *what == What::Associated);
                Self::Report { at, ap: ap.0, session, seq, station: *station, associated }
            }
            Input::Timer => Self::Timer { at },
            Input::ShutDown => Self::ShutDown { at },
        }
    }

    /// What the controller asked for; [`None`]: a message without a form on the wire, which was not sent.
    pub(super) fn of_output(output: &Output) -> Option<Self> {
        match output {
            Output::Send(ConnId(conn), message) => {
                let mut bytes = Vec::new();
                message.emit(&mut bytes).ok()?;
                Some(Self::Sent { conn: *conn, bytes: to_text(&redacted(&bytes.into(), message)) })
            }
            Output::Close(ConnId(conn)) => Some(Self::Closed { conn: *conn }),
        }
    }

    /// When what the controller was told, if the line is that.
    pub(super) fn input(&self) -> Option<Result<(Instant, Input), String>> {
        let (at, input) = match *self {
            Self::Recording { .. } | Self::Sent { .. } | Self::Closed { .. } => return None,
            Self::Began { at, began } => (at, Input::Began(began)),
            Self::Forget { at, station } => (at, Input::Forget(station)),
            Self::Connected { at, conn } => (at, Input::Connected(ConnId(conn))),
            Self::Disconnected { at, conn } => (at, Input::Disconnected(ConnId(conn))),
            Self::Message { at, conn, ref bytes } => match message(conn, bytes) {
                Ok(input) => (at, input),
                Err(error) => return Some(Err(error)),
            },
            Self::Notice { at, station, ap, epoch, associated } => {
                let what = what_of(associated);
                (at, Input::Notice(Notice { station, ap: ApId(ap), epoch, what }))
            }
            Self::Hello { at, ap, ref stations } => (at, Input::Hello(ApId(ap), stations.clone())),
            Self::Report { at, ap, session, seq, station, associated } => {
                let what = what_of(associated);
                (at, Input::Report(Report { ap: ApId(ap), session, seq, station, what }))
            }
            Self::Timer { at } => (at, Input::Timer),
            Self::ShutDown { at } => (at, Input::ShutDown),
        };
        Some(Ok((Instant::from_nanos(at), input)))
    }
}

fn what_of(associated: bool) -> What {
    if associated { What::Associated } else { What::Disassociated }
}

fn message(conn: u64, text: &str) -> Result<Input, String> {
    let bytes =
        Bytes::from(of_text(text).ok_or("expected hexadecimal digits, and `+` with a number of zeros")?);
    let message = Message::parse(&bytes).map_err(|error| error.to_string())?;
    Ok(Input::Message { conn: ConnId(conn), bytes, message })
}

/// Hexadecimal digits; zeros at the end as their number: "0a0d+1400".
fn to_text(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let mut text = String::with_capacity(2 * end + 6);
    for byte in &bytes[..end] {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    if end < bytes.len() {
        let _ = write!(text, "+{}", bytes.len() - end);
    }
    text
}

fn of_text(text: &str) -> Option<Vec<u8>> {
    let (digits, zeros) = text.split_once('+').unwrap_or((text, "0"));
    let zeros: u16 = zeros.parse().ok()?;
    let octet = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let right = digits.len() % 2 == 0 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let octets = digits.as_bytes().chunks(2).filter(|_| right).map(octet);
    let mut bytes: Vec<u8> = octets.collect::<Option<_>>()?;
    bytes.resize(bytes.len() + usize::from(zeros), 0);
    right.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_counted() {
        for (bytes, text) in [
            (vec![], ""),
            (vec![0], "+1"),
            (vec![0, 255, 16], "00ff10"),
            ([vec![1, 0, 2], vec![0; 1400]].concat(), "010002+1400"),
        ] {
            assert_eq!(to_text(&bytes), text);
            assert_eq!(of_text(text), Some(bytes));
        }
        for wrong in ["0", "0g", "00+", "00+x", "00+70000", "é0", "+1+1"] {
            assert_eq!(of_text(wrong), None, "{wrong}");
        }
    }
}
