//! What the file says: `[metrics]`, and where the controller is asked.

use std::net::SocketAddr;
use std::path::PathBuf;

use handfast_core::Duration;
use handfast_document::{Checked, DocumentError, Located, Problem, TimeSpan, problem};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::process::parse;

const LISTEN: &str = "127.0.0.1:9653";
const INTERVAL: Duration = Duration::from_secs(5);

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
