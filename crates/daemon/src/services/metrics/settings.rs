//! What the file says: `[metrics]`, and where the controller is asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use handfast_core::Duration;
use handfast_document::{Checked, DocumentError, Located, Problem, TimeSpan, missing_key, problem};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::process::parse;

const LISTEN: &str = "127.0.0.1:9653";
const INTERVAL: Duration = Duration::from_secs(5);

/// The part of the file that is read; other keys are those of the service that is asked.
#[derive(Deserialize)]
struct File {
    /// Where the controller is asked.
    association_socket: Option<PathBuf>,
    /// Where a node of SDTP is asked, in a file of a node.
    sdtp: Option<Asked>,
    /// Where the controller of SDTP is asked, in a file of its own.
    #[serde(rename = "sdtp-controller")]
    sdtp_controller: Option<Asked>,
    /// Where an end of sessions is asked, in a file of its own.
    session: Option<Asked>,
    #[serde(default)]
    metrics: MetricsTable,
}

/// A service's table, of which only this is read.
#[derive(Deserialize)]
struct Asked {
    socket: PathBuf,
}

impl File {
    /// Whom it asks: the first of these services that the file has.
    fn socket(&self) -> Checked<PathBuf> {
        let asked = [&self.sdtp, &self.sdtp_controller, &self.session].into_iter().flatten().next();
        let asked = asked.map(|asked| &asked.socket);
        let socket = self.association_socket.as_ref().or(asked).cloned();
        socket.ok_or_else(|| missing_key(0..0, "association_socket"))
    }
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
pub(super) struct Settings {
    pub(super) association_socket: PathBuf,
    pub(super) listen: SocketAddr,
    pub(super) interval: Duration,
}

impl Settings {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let file = File::deserialize(toml::Deserializer::from(document));
        let file = file.map_err(|error| problem(&error, &[]))?;
        let association_socket = file.socket()?;
        let metrics = file.metrics;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::Configured;

    #[test]
    fn the_file_is_the_controllers_or_its_own() {
        let example = include_str!("../../../../../examples/handfastd.toml");
        let settings = Settings::parse(example, "x").unwrap();
        assert_eq!((settings.listen, settings.interval), (LISTEN.parse().unwrap(), INTERVAL));
        let own = "association_socket = \"/s\"\n[metrics]\nlisten = \"[::1]:80\"\ninterval = \"1s\"";
        let settings = Settings::parse(own, "x").unwrap();
        assert_eq!(settings.plan(), "serves http://[::1]:80/metrics\nasks /s every 1s\n");
    }

    #[test]
    fn nodes_of_sdtp_and_ends_of_sessions_are_asked_too() {
        for (text, asks) in [
            ("[sdtp]\nsocket = \"/n\"\n", "/n"),
            ("[sdtp-controller]\nsocket = \"/c\"\nother = 3\n", "/c"),
            ("[session]\nsocket = \"/e\"\nlisten = 3\n", "/e"),
            ("association_socket = \"/s\"\n[sdtp]\nsocket = \"/n\"\n", "/s"),
        ] {
            let plan = Settings::parse(text, "x").unwrap().plan();
            assert!(plan.contains(&format!("asks {asks} every 5s")), "{plan}");
        }
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
}
