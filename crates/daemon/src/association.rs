//! The news of access points: one JSON object a line, strictly read.

use std::fmt;

use handfast_assist::sdn::What;
use handfast_wire::openflow::EthAddr;
use serde::Deserialize;

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
        /// Which association it is about.
        epoch: u64,
        /// What happened.
        what: What,
    },
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    event: Event,
    station: Option<String>,
    ap: Option<String>,
    epoch: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Event {
    Associated,
    Disassociated,
    Status,
}

impl Request {
    /// Reads a line without its end.
    ///
    /// ```
    /// use handfast_daemon::association::Request;
    ///
    /// assert_eq!(Request::parse(br#"{"event": "status"}"#), Ok(Request::Status));
    /// let error = Request::parse(br#"{"event": "associated", "ap": "ap1", "epoch": 1}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "`station` is missing");
    /// ```
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        if line.len() > LONGEST_LINE {
            return Err(too_long());
        }
        let line: Line = serde_json::from_slice(line).map_err(|error| LineError::new(&error.to_string()))?;
        let what = match (line.event, &line) {
            (Event::Status, Line { station: None, ap: None, epoch: None, .. }) => return Ok(Self::Status),
            (Event::Status, _) => return Err(LineError::new("`status` has no other keys")),
            (Event::Associated, _) => What::Associated,
            (Event::Disassociated, _) => What::Disassociated,
        };
        let missing = |key| LineError::new(&format!("`{key}` is missing"));
        let station = address(&line.station.ok_or_else(|| missing("station"))?)?;
        let ap = line.ap.ok_or_else(|| missing("ap"))?;
        let epoch = line.epoch.ok_or_else(|| missing("epoch"))?;
        Ok(Self::News { station, ap, epoch, what })
    }
}

/// What a line is told that goes beyond [`LONGEST_LINE`].
pub(crate) fn too_long() -> LineError {
    LineError::new(&format!("expected a line of at most {LONGEST_LINE} bytes"))
}

/// A station's address: six octets, of one interface.
fn address(text: &str) -> Result<EthAddr, LineError> {
    let octet = |part: &str| {
        let right = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(part, 16).ok().filter(|_| right)
    };
    let octets: Option<Vec<u8>> = text.split(':').map(octet).collect();
    let octets = octets.and_then(|octets| <EthAddr>::try_from(octets).ok());
    // IEEE 802-2014 §8.2.2: the lowest bit of the first octet is that of groups.
    octets.filter(|octets| octets[0] & 1 == 0 && *octets != [0; 6]).ok_or_else(|| {
        let text = text.escape_debug();
        LineError::new(&format!("expected a station's address such as 02:00:0a:00:00:05, not `{text}`"))
    })
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
        let news = |what| Request::News { station, ap: "ap1".to_owned(), epoch: 3, what };
        assert_eq!(Request::parse(line), Ok(news(What::Associated)));
        let line = br#" {"epoch":3,"ap":"ap1","station":"02:00:0A:00:00:05","event":"disassociated"} "#;
        assert_eq!(Request::parse(line), Ok(news(What::Disassociated)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let news = |station: &str, epoch: &str| {
            format!(r#"{{"event": "associated", "station": "{station}", "ap": "a", "epoch": {epoch}}}"#)
        };
        let right = "02:00:00:00:00:01";
        assert!(Request::parse(news(right, "0").as_bytes()).is_ok());
        for wrong in
            ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02-00-00-00-00-01", "+2:00:00:00:00:01", "x"]
        {
            assert!(error(&news(wrong, "0")).contains("expected a station's address"), "{wrong}");
        }
        assert!(error(&news("01:00:5e:00:00:01", "0")).contains("expected a station's address"), "a group's");
        assert!(error(&news("00:00:00:00:00:00", "0")).contains("expected a station's address"));
        assert!(error(&news(right, "-1")).contains("invalid value"));
        assert!(error(&news(right, "1.5")).contains("invalid type"));
        assert!(error(r#"{"event": "associated", "epoch": 1, "epoch": 2}"#).contains("duplicate field"));
        assert!(error(r#"{"event": "left"}"#).contains("unknown variant `left`"));
        assert!(error(r#"{"event": "status", "speed": 1}"#).contains("unknown field `speed`"));
        assert_eq!(error(r#"{"event": "status", "ap": "a"}"#), "`status` has no other keys");
        assert!(error("").contains("EOF"));
        assert!(error(r#"{"event": "status"} x"#).contains("trailing"));
        let long = format!(r#"{{"event": "status"{}}}"#, " ".repeat(LONGEST_LINE));
        assert_eq!(error(&long), "expected a line of at most 4096 bytes");
    }
}
