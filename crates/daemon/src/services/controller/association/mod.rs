//! What access points report of stations: one JSON object a line, strictly read.

mod object;

use std::collections::BTreeSet;
use std::fmt;

use handfast_assist::sdn::What;
use handfast_io::line_socket::LineLimits;
use handfast_wire::openflow::EthAddr;
use serde_json::Value;

use object::{Object, nearest};

/// The longest line, its end not counted.
///
/// An access point may have 2,007 stations (IEEE 802.11 §9.4.1.8), each of which takes 20 bytes of its hello.
pub const LONGEST_LINE: usize = 65_536;

/// What the association socket takes.
pub(crate) const LIMITS: LineLimits =
    LineLimits { longest_line: LONGEST_LINE, most_clients: 64, most_waiting: 64 << 10 };

/// What a line asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// An access point reports a station.
    StationEvent {
        /// The station.
        station: EthAddr,
        /// The access point's name in the configuration.
        ap: String,
        /// How it is numbered.
        number: Number,
        /// What happened.
        what: What,
    },
    /// An agent begins to speak for an access point.
    Hello {
        /// The access point's name in the configuration.
        ap: String,
        /// All its stations.
        stations: BTreeSet<EthAddr>,
    },
    /// What is known of a station is wrong.
    Forget {
        /// The station.
        station: EthAddr,
    },
    /// The configuration is to be read again.
    Reload,
    /// How does the daemon do?
    Status,
}

/// How station events are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Not at all: the daemon numbers associations as they are reported.
    None,
    /// The access point numbers associations itself.
    Epoch(u64),
    /// By an agent that has said hello: its session, and the place in it.
    Report {
        /// What the answer to its hello said.
        session: u64,
        /// From one on, by one.
        seq: u64,
    },
}

/// Why a line is none: one line of at most 200 characters, whatever is quoted in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(String);

impl LineError {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.chars().filter(|c| !c.is_control()).take(200).collect())
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineError {}

impl Request {
    /// Reads a line without its end.
    ///
    /// ```
    /// use handfast_daemon::association::Request;
    ///
    /// assert_eq!(Request::parse(br#"{"event": "status"}"#), Ok(Request::Status));
    /// let error = Request::parse(br#"{"event": "associated", "ap": "ap1", "epoch": 1}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "`station` is missing: expected an address such as 02:00:0a:00:00:05");
    /// ```
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        if line.len() > LONGEST_LINE {
            return Err(too_long());
        }
        let object = Object::read(line)?;
        let what = match event(&object)? {
            Event::Alone(word, request) => {
                return only(&object, word, &["event"], "no other keys").map(|()| request);
            }
            Event::Hello => {
                only(&object, "hello", &["event", "ap", "stations"], "only `ap` and `stations`")?;
                return Ok(Self::Hello { ap: access_point(&object)?, stations: stations(&object)? });
            }
            Event::Forget => {
                let station = station(text(&object, "station", ADDRESS)?)?;
                return Ok(Self::Forget { station });
            }
            Event::Station(what) => what,
        };
        let station = station(text(&object, "station", ADDRESS)?)?;
        if object.get("stations").is_some() {
            return Err(LineError::new("`stations` is for hello: leave it out"));
        }
        Ok(Self::StationEvent { station, ap: access_point(&object)?, number: number(&object)?, what })
    }
}

enum Event {
    Alone(&'static str, Request),
    Forget,
    Hello,
    Station(What),
}

/// What keys need.
const EVENTS: &str = "associated, disassociated, hello, forget, reload or status";
const ADDRESS: &str = "an address such as 02:00:0a:00:00:05";
const NUMBER: &str = "a whole number from 0 to 18446744073709551615";

fn event(object: &Object) -> Result<Event, LineError> {
    match text(object, "event", EVENTS)? {
        "status" => Ok(Event::Alone("status", Request::Status)),
        "reload" => Ok(Event::Alone("reload", Request::Reload)),
        "forget" => Ok(Event::Forget),
        "hello" => Ok(Event::Hello),
        "associated" => Ok(Event::Station(What::Associated)),
        "disassociated" => Ok(Event::Station(What::Disassociated)),
        other => {
            let events = ["associated", "disassociated", "hello", "forget", "reload", "status"];
            let hint = nearest(other, events.into_iter());
            let other = quoted(other);
            Err(LineError::new(&format!("`event` is {other}: expected {EVENTS}{hint}")))
        }
    }
}

/// Whether an object has these keys and no others.
fn only(object: &Object, word: &str, keys: &[&str], has: &str) -> Result<(), LineError> {
    object
        .other_than(keys)
        .map_or(Ok(()), |other| Err(LineError::new(&format!("`{word}` has {has}: leave out `{other}`"))))
}

fn access_point(object: &Object) -> Result<String, LineError> {
    text(object, "ap", "the name of an access point").map(str::to_owned)
}

fn number(object: &Object) -> Result<Number, LineError> {
    let of = |key: &str| {
        let whole = |number: &Value| number.as_u64().ok_or_else(|| wrong(key, number, NUMBER));
        object.get(key).map(whole).transpose()
    };
    match (of("epoch")?, of("session")?, of("seq")?) {
        (None, None, None) => Ok(Number::None),
        (Some(epoch), None, None) => Ok(Number::Epoch(epoch)),
        (None, Some(session), Some(seq)) => Ok(Number::Report { session, seq }),
        (Some(_), ..) => Err(LineError::new("`epoch` and `session` exclude each other: leave out one")),
        (None, None, Some(_)) => {
            Err(LineError::new("`session` is missing: expected what hello was answered"))
        }
        (None, Some(_), None) => Err(LineError::new("`seq` is missing: expected 1, 2, 3, … with each event")),
    }
}

fn stations(object: &Object) -> Result<BTreeSet<EthAddr>, LineError> {
    const LIST: &str = "a list of addresses, which may be empty";
    let listed = value(object, "stations", LIST)?;
    let list = listed.as_array().ok_or_else(|| wrong("stations", listed, LIST))?;
    let one = |value: &Value| station(value.as_str().ok_or_else(|| wrong("stations", listed, LIST))?);
    list.iter().map(one).collect()
}

fn value<'o>(object: &'o Object, key: &str, expected: &str) -> Result<&'o Value, LineError> {
    object.get(key).ok_or_else(|| LineError::new(&format!("`{key}` is missing: expected {expected}")))
}

fn text<'o>(object: &'o Object, key: &str, expected: &str) -> Result<&'o str, LineError> {
    let value = value(object, key, expected)?;
    value.as_str().ok_or_else(|| wrong(key, value, expected))
}

fn wrong(key: &str, value: &Value, expected: &str) -> LineError {
    let found = match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => format!("the text {}", quoted(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    LineError::new(&format!("`{key}` is {found}: expected {expected}"))
}

/// What somebody wrote, of which the beginning tells enough.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    let more = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let beginning: String = text.chars().take(SHOWN).collect();
    format!("`{}{more}`", beginning.escape_debug())
}

/// No access point is called `ap`; `names`: those that there are.
pub(crate) fn unknown_access_point(ap: &str, names: &[String]) -> LineError {
    let names = names.iter().map(String::as_str);
    let hint = handfast_document::hint(ap, names);
    LineError::new(&format!(
        "`ap` is {}: no access point of the configuration is called so; {hint}",
        quoted(ap)
    ))
}

/// What a line is told that goes beyond [`LONGEST_LINE`].
pub(crate) fn too_long() -> LineError {
    LineError::new(&format!("expected a line of at most {LONGEST_LINE} bytes"))
}

fn station(text: &str) -> Result<EthAddr, LineError> {
    address(text).map_err(|why| LineError::new(&format!("`station` is {why}")))
}

/// A station's address: six octets, of one interface. The error begins with what it is instead.
pub(crate) fn address(text: &str) -> Result<EthAddr, String> {
    let octet = |part: &str| {
        let right = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(part, 16).ok().filter(|_| right)
    };
    let octets: Option<Vec<u8>> = text.split(':').map(octet).collect();
    let octets = octets.and_then(|octets| <EthAddr>::try_from(octets).ok());
    let Some(octets) = octets else {
        return Err(format!("{}: expected {ADDRESS}", quoted(text)));
    };
    // IEEE 802-2014 §8.2.2: the lowest bit of the first octet is that of groups.
    if octets[0] & 1 != 0 || octets == [0; 6] {
        let what = "no station has this address: expected that of one interface";
        return Err(format!("{}: {what}", quoted(text)));
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        Request::parse(line.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn station_events_are_read() {
        let line = br#"{"event": "associated", "station": "02:00:0a:00:00:05", "ap": "ap1", "epoch": 3}"#;
        let station = [2, 0, 10, 0, 0, 5];
        let event =
            |what| Request::StationEvent { station, ap: "ap1".to_owned(), number: Number::Epoch(3), what };
        assert_eq!(Request::parse(line), Ok(event(What::Associated)));
        let line = br#" {"epoch":3,"ap":"ap1","station":"02:00:0A:00:00:05","event":"disassociated"} "#;
        assert_eq!(Request::parse(line), Ok(event(What::Disassociated)));
    }

    #[test]
    fn a_hello_and_what_follows_it_are_read() {
        let hello =
            |stations: &str| format!(r#"{{"event": "hello", "ap": "ap1", "stations": [{stations}]}}"#);
        let ap = "ap1".to_owned();
        let two = hello(r#""02:00:0a:00:00:05", "02:00:0a:00:00:06""#);
        let stations = BTreeSet::from([[2, 0, 10, 0, 0, 5], [2, 0, 10, 0, 0, 6]]);
        assert_eq!(Request::parse(two.as_bytes()), Ok(Request::Hello { ap: ap.clone(), stations }));
        let none = Request::Hello { ap, stations: BTreeSet::new() };
        assert_eq!(Request::parse(hello("").as_bytes()), Ok(none));
        let line = r#"{"event": "disassociated", "station": "02:00:0a:00:00:05", "ap": "ap1", "session": 7, "seq": 2}"#;
        let Ok(Request::StationEvent { number, .. }) = Request::parse(line.as_bytes()) else { panic!() };
        assert_eq!(number, Number::Report { session: 7, seq: 2 });
        let most = vec![r#""02:00:0a:00:00:05""#; 2007].join(",");
        assert!(Request::parse(hello(&most).as_bytes()).is_ok());
    }

    /// Whatever is wrong: the key, what was expected, and the nearest name; never a word of the parser or of Rust.
    #[test]
    fn what_is_wrong_is_said() {
        let event = |station: &str, ap: &str, epoch: &str| {
            format!(r#"{{"event": "associated", "station": {station}, "ap": {ap}, "epoch": {epoch}}}"#)
        };
        let right = "\"02:00:00:00:00:01\"";
        assert!(Request::parse(event(right, "\"a\"", "0").as_bytes()).is_ok());
        let such = "expected one JSON object a line, such as {\"event\": \"status\"}";
        let address = "expected an address such as 02:00:0a:00:00:05";
        let number = "expected a whole number from 0 to 18446744073709551615";
        let long = "x".repeat(100);
        let cases = [
            (String::new(), format!("the line is empty: {such}")),
            ("{".to_owned(), format!("the line ends in the middle of the object: {such}")),
            (
                "{\"event\": \"status\"".to_owned(),
                format!("the line ends in the middle of the object: {such}"),
            ),
            ("status".to_owned(), format!("no JSON at column 1: {such}")),
            ("{event: 1}".to_owned(), format!("no JSON at column 2: {such}")),
            ("{\"event\": \"status\"} x".to_owned(), format!("no JSON at column 21: {such}")),
            ("[1]".to_owned(), format!("this is no object: {such}")),
            ("\"status\"".to_owned(), format!("this is no object: {such}")),
            ("null".to_owned(), format!("this is no object: {such}")),
            ("{}".to_owned(), format!("`event` is missing: expected {EVENTS}")),
            ("{\"event\": 3}".to_owned(), format!("`event` is 3: expected {EVENTS}")),
            ("{\"event\": \"left\"}".to_owned(), format!("`event` is `left`: expected {EVENTS}")),
            (
                "{\"event\": \"asociated\"}".to_owned(),
                format!("`event` is `asociated`: expected {EVENTS}; did you mean `associated`?"),
            ),
            (
                "{\"event\": \"status\", \"speed\": 1}".to_owned(),
                "unknown key `speed`: expected event, station, ap, epoch, session, seq or stations".to_owned(),
            ),
            (
                "{\"event\": \"status\", \"epoc\": 1}".to_owned(),
                "unknown key `epoc`: expected event, station, ap, epoch, session, seq or stations; did you mean `epoch`?".to_owned(),
            ),
            (
                "{\"event\": \"associated\", \"epoch\": 1, \"epoch\": 2}".to_owned(),
                "the key `epoch` is there twice: expected it once".to_owned(),
            ),
            (
                "{\"event\": \"status\", \"ap\": \"a\"}".to_owned(),
                "`status` has no other keys: leave out `ap`".to_owned(),
            ),
            ("{\"event\": \"associated\"}".to_owned(), format!("`station` is missing: {address}")),
            (
                format!("{{\"event\": \"associated\", \"station\": {right}}}"),
                "`ap` is missing: expected the name of an access point".to_owned(),
            ),
            (event("5", "\"a\"", "0"), format!("`station` is 5: {address}")),
            (event("[]", "\"a\"", "0"), format!("`station` is a list: {address}")),
            (event(right, "{}", "0"), "`ap` is an object: expected the name of an access point".to_owned()),
            (event(right, "\"a\"", "-1"), format!("`epoch` is -1: {number}")),
            (event(right, "\"a\"", "1.5"), format!("`epoch` is 1.5: {number}")),
            (event(right, "\"a\"", "\"3\""), format!("`epoch` is the text `3`: {number}")),
            (
                event(right, "\"a\"", "18446744073709551616"),
                format!("`epoch` is 1.8446744073709552e+19: {number}"),
            ),
            (
                r#"{"event": "hello", "ap": "a"}"#.to_owned(),
                "`stations` is missing: expected a list of addresses, which may be empty".to_owned(),
            ),
            (
                r#"{"event": "hello", "ap": "a", "stations": "02:00:00:00:00:01"}"#.to_owned(),
                "`stations` is the text `02:00:00:00:00:01`: expected a list of addresses, which may be empty"
                    .to_owned(),
            ),
            (
                r#"{"event": "hello", "ap": "a", "stations": [], "epoch": 1}"#.to_owned(),
                "`hello` has only `ap` and `stations`: leave out `epoch`".to_owned(),
            ),
            (
                r#"{"event": "associated", "station": "02:00:00:00:00:01", "ap": "a", "stations": []}"#
                    .to_owned(),
                "`stations` is for hello: leave it out".to_owned(),
            ),
            (
                event(right, "\"a\"", "1, \"session\": 2, \"seq\": 1"),
                "`epoch` and `session` exclude each other: leave out one".to_owned(),
            ),
            (
                r#"{"event": "associated", "station": "02:00:00:00:00:01", "ap": "a", "session": 1}"#
                    .to_owned(),
                "`seq` is missing: expected 1, 2, 3, … with each event".to_owned(),
            ),
            (
                r#"{"event": "associated", "station": "02:00:00:00:00:01", "ap": "a", "seq": 1}"#.to_owned(),
                "`session` is missing: expected what hello was answered".to_owned(),
            ),
            (
                event(&format!("\"{long}\""), "\"a\"", "0"),
                format!("`station` is `{}…`: {address}", "x".repeat(40)),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(error(&line), expected, "{line}");
        }
    }

    #[test]
    fn an_address_is_that_of_one_station() {
        let of = |station: &str| {
            error(&format!(r#"{{"event": "associated", "station": "{station}", "ap": "a", "epoch": 0}}"#))
        };
        for wrong in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02-00-00-00-00-01", "+2:00:00:00:00:01", "x"]
        {
            assert_eq!(of(wrong), format!("`station` is `{wrong}`: expected {ADDRESS}"));
        }
        for nobody in ["01:00:5e:00:00:01", "00:00:00:00:00:00"] {
            let expected = "no station has this address: expected that of one interface";
            assert_eq!(of(nobody), format!("`station` is `{nobody}`: {expected}"));
        }
    }

    #[test]
    fn a_line_has_an_end() {
        let long = format!(r#"{{"event": "status"{}}}"#, " ".repeat(LONGEST_LINE));
        assert_eq!(error(&long), "expected a line of at most 65536 bytes");
    }

    #[test]
    fn the_nearest_access_point_is_named() {
        let names = ["ap-north", "ap-south"].map(str::to_owned);
        let of = |ap| unknown_access_point(ap, &names).to_string();
        let none = "no access point of the configuration is called so";
        assert_eq!(of("ap-nort"), format!("`ap` is `ap-nort`: {none}; did you mean `ap-north`?"));
        assert_eq!(of("hall"), format!("`ap` is `hall`: {none}; there is: ap-north, ap-south"));
    }
}
