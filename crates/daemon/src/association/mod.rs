//! The news of access points: one JSON object a line, strictly read.

mod object;

use std::fmt;

use handfast_assist::sdn::What;
use handfast_wire::openflow::EthAddr;
use serde_json::Value;

use object::{Object, nearest};

/// The longest line, its end not counted.
pub const LONGEST_LINE: usize = 4096;

/// What a line asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// An access point has news of a station.
    News {
        /// The station.
        station: EthAddr,
        /// The access point's name in the configuration.
        ap: String,
        /// Which association it is about; [`None`]: the daemon is to number them.
        epoch: Option<u64>,
        /// What happened.
        what: What,
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
                return object.other_than("event").map_or(Ok(request), |other| {
                    Err(LineError::new(&format!("`{word}` has no other keys: leave out `{other}`")))
                });
            }
            Event::Forget => {
                let station = station(text(&object, "station", ADDRESS)?)?;
                return Ok(Self::Forget { station });
            }
            Event::News(what) => what,
        };
        let station = station(text(&object, "station", ADDRESS)?)?;
        let ap = text(&object, "ap", "the name of an access point")?.to_owned();
        let number = |epoch: &Value| epoch.as_u64().ok_or_else(|| wrong("epoch", epoch, NUMBER));
        let epoch = object.get("epoch").map(number).transpose()?;
        Ok(Self::News { station, ap, epoch, what })
    }
}

enum Event {
    Alone(&'static str, Request),
    Forget,
    News(What),
}

/// What keys need.
const EVENTS: &str = "associated, disassociated, forget, reload or status";
const ADDRESS: &str = "an address such as 02:00:0a:00:00:05";
const NUMBER: &str = "a whole number from 0 to 18446744073709551615";

fn event(object: &Object) -> Result<Event, LineError> {
    match text(object, "event", EVENTS)? {
        "status" => Ok(Event::Alone("status", Request::Status)),
        "reload" => Ok(Event::Alone("reload", Request::Reload)),
        "forget" => Ok(Event::Forget),
        "associated" => Ok(Event::News(What::Associated)),
        "disassociated" => Ok(Event::News(What::Disassociated)),
        other => {
            let hint =
                nearest(other, ["associated", "disassociated", "forget", "reload", "status"].into_iter());
            let other = quoted(other);
            Err(LineError::new(&format!("`event` is {other}: expected {EVENTS}{hint}")))
        }
    }
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
    fn news_are_read() {
        let line = br#"{"event": "associated", "station": "02:00:0a:00:00:05", "ap": "ap1", "epoch": 3}"#;
        let station = [2, 0, 10, 0, 0, 5];
        let news = |what| Request::News { station, ap: "ap1".to_owned(), epoch: Some(3), what };
        assert_eq!(Request::parse(line), Ok(news(What::Associated)));
        let line = br#" {"epoch":3,"ap":"ap1","station":"02:00:0A:00:00:05","event":"disassociated"} "#;
        assert_eq!(Request::parse(line), Ok(news(What::Disassociated)));
    }

    /// Whatever is wrong: the key, what was expected, and the nearest name; never a word of the parser or of Rust.
    #[test]
    fn what_is_wrong_is_said() {
        let news = |station: &str, ap: &str, epoch: &str| {
            format!(r#"{{"event": "associated", "station": {station}, "ap": {ap}, "epoch": {epoch}}}"#)
        };
        let right = "\"02:00:00:00:00:01\"";
        assert!(Request::parse(news(right, "\"a\"", "0").as_bytes()).is_ok());
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
                "unknown key `speed`: expected event, station, ap or epoch".to_owned(),
            ),
            (
                "{\"event\": \"status\", \"epoc\": 1}".to_owned(),
                "unknown key `epoc`: expected event, station, ap or epoch; did you mean `epoch`?".to_owned(),
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
            (news("5", "\"a\"", "0"), format!("`station` is 5: {address}")),
            (news("[]", "\"a\"", "0"), format!("`station` is a list: {address}")),
            (news(right, "{}", "0"), "`ap` is an object: expected the name of an access point".to_owned()),
            (news(right, "\"a\"", "-1"), format!("`epoch` is -1: {number}")),
            (news(right, "\"a\"", "1.5"), format!("`epoch` is 1.5: {number}")),
            (news(right, "\"a\"", "\"3\""), format!("`epoch` is the text `3`: {number}")),
            (
                news(right, "\"a\"", "18446744073709551616"),
                format!("`epoch` is 1.8446744073709552e+19: {number}"),
            ),
            (
                news(&format!("\"{long}\""), "\"a\"", "0"),
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
        assert_eq!(error(&long), "expected a line of at most 4096 bytes");
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
