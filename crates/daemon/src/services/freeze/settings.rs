//! What the file says: `[freeze]`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use handfast_assist::iosl::network::Config as Radio;
use handfast_bpf::Network;
use handfast_core::{Dbm, Duration};
use handfast_document::{Checked, DocumentError, Located, Problem, TimeSpan, missing_key, positive, table};
use toml::Spanned;
use toml::de::DeTable;

use super::absences::{LONGEST, MOST};
use super::{TABLE, follower};
use crate::process::{Level, keys_of, parse, socket_path, table_of};
use crate::services::words::LogWord;

/// The kernel takes no less (`TCP_RTO_MAX_MS`).
const LEAST_RTO_MAX: Duration = Duration::from_secs(1);
/// RFC 6298 §2.5 asks for at least 60 s; Linux begins with 120 s, and takes no more.
const MOST_RTO_MAX: Duration = Duration::from_secs(120);
/// What 20 MHz of Wi-Fi hear where nobody sends: thermal noise of -101 dBm and a noise figure of 6 dB.
const NOISE: Dbm = Dbm(-95_000);
/// Equation (3) looks back by as much at least (docs/explanation/deviations.md).
const EVERY: Duration = Duration::from_millis(20);

table! {
    /// Where the signal comes from.
    SignalTable {
        /// A file that grows by a line a report: its power in dBm, or `gone`. This or `interface` is required.
        file: String,
        /// A client's Wi-Fi interface, whose kernel is asked.
        interface: String,
        /// How often it is asked. Default: "20ms".
        every: TimeSpan,
        /// What the radio hears where nobody sends. Default: "-95dBm".
        noise: String,
    }
}

table! {
    /// What freezes connections at one end.
    Own {
        /// The Unix socket at which it is told who is away. Required.
        socket: String,
        /// Whom connections lead to that are helped: addresses and networks. Required.
        peers: Vec<Located<String>>,
        /// The control group whose programs are helped, with what they open from then on. Default: all of this machine.
        cgroup: String,
        /// The longest retransmission timeout of their connections. Default: "1s".
        rto_max: TimeSpan,
        /// Who is away for longer is taken to be back. Default: "1min".
        longest: TimeSpan,
        /// The interface by which it receives from them, if that is to stop, too. Default: it only helps what is sent.
        interface: String,
        /// The radio behind which the peers are. Default: it is only told.
        signal: SignalTable,
        /// Least important messages that are logged. Default: "info".
        log: LogWord,
    }
}

/// What says how strong the signal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    File(PathBuf),
    Interface { name: String, every: Duration },
}

/// What is known of the radio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignalOf {
    pub(super) source: Source,
    pub(super) noise: Dbm,
}

/// A configuration that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) socket: PathBuf,
    pub(super) peers: BTreeSet<Network>,
    pub(super) cgroup: Option<PathBuf>,
    pub(super) rto_max: Duration,
    pub(super) longest: Duration,
    pub(super) interface: Option<String>,
    pub(super) signal: Option<SignalOf>,
    pub(super) log: Level,
}

impl Settings {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let (file, span) = keys_of::<Own>(table_of(document, TABLE)?)?;
        let socket = file.socket.ok_or_else(|| missing_key(span.clone(), "socket"))?;
        let listed = file.peers.ok_or_else(|| {
            missing_key(span, "peers").help("whom connections lead to: peers = [\"192.0.2.0/24\"]")
        })?;
        Ok(Self {
            socket: socket_path(&socket)?.into(),
            peers: peers(&listed)?,
            cgroup: file.cgroup.map(|cgroup| cgroup.value.into()),
            rto_max: file.rto_max.as_ref().map_or(Ok(LEAST_RTO_MAX), rto_max)?,
            longest: file.longest.as_ref().map_or(Ok(LONGEST), |longest| positive(longest, "longest"))?,
            interface: file.interface.map(|interface| interface.value),
            signal: file.signal.map(source).transpose()?,
            log: file.log.map(|log| log.value).unwrap_or_default().into(),
        })
    }

    /// Whom of its peers a network means: those that are in it, and itself where it is a part of one. The kernel goes by the narrowest
    /// entry, so a wider one says nothing of those.
    pub(super) fn meant(&self, by: Network) -> BTreeSet<Network> {
        let part = self.peers.iter().any(|peers| peers.covers(by)).then_some(by);
        self.peers.iter().copied().filter(|peers| by.covers(*peers)).chain(part).collect()
    }

    /// What it would do, for people.
    pub(super) fn describe(&self) -> String {
        let peers: Vec<String> = self.peers.iter().map(Network::to_string).collect();
        let programs = match &self.cgroup {
            Some(cgroup) => format!("that programs in {} open from now on", cgroup.display()),
            None => "of this machine's programs".to_owned(),
        };
        let receives = self.interface.as_ref().map_or_else(String::new, |interface| {
            format!("has them send nothing by {interface} meanwhile, by windows of zero\n")
        });
        let signal = match &self.signal {
            Some(SignalOf { source: Source::File(file), noise }) => {
                format!("follows the signal in {}, over a noise of {noise}\n", file.display())
            }
            Some(SignalOf { source: Source::Interface { name, every }, noise }) => {
                format!("asks {name} for its signal every {every}, over a noise of {noise}\n")
            }
            None => String::new(),
        };
        format!(
            "freezes connections {programs} to {}, for {} at most\n\
             their retransmission timeout is {} at most\n{receives}{signal}is told at {}\n",
            peers.join(", "),
            self.longest,
            self.rto_max,
            self.socket.display(),
        )
    }

    /// What the machine that judges the signal begins with.
    pub(super) fn radio() -> Radio {
        Radio::default()
    }
}

fn peers(listed: &Located<Vec<Located<String>>>) -> Checked<BTreeSet<Network>> {
    let of = |text: &Located<String>| {
        let wrong = |title: String| Problem::at(text.span.clone(), title);
        text.parse().map_err(|error: String| {
            wrong(error).expected("expected such as \"192.0.2.0/24\" or \"2001:db8::1\"")
        })
    };
    let peers = listed.iter().map(of).collect::<Checked<BTreeSet<_>>>()?;
    if peers.is_empty() || peers.len() > MOST {
        return Err(Problem::at(listed.span.clone(), format!("there may be 1 to {MOST} peers")));
    }
    Ok(peers)
}

fn rto_max(given: &Located<TimeSpan>) -> Checked<Duration> {
    let span = given.value.0;
    if (LEAST_RTO_MAX..=MOST_RTO_MAX).contains(&span) {
        return Ok(span);
    }
    let title = format!("the kernel takes {LEAST_RTO_MAX} to {MOST_RTO_MAX}");
    Err(Problem::at(given.span.clone(), title))
}

fn source(table: Located<SignalTable>) -> Checked<SignalOf> {
    let SignalTable { file, interface, every, noise } = table.value;
    let noise = match noise {
        None => NOISE,
        Some(text) => follower::power(&text.value).ok_or_else(|| {
            let title = format!("`{}` is no power", text.value.escape_debug());
            Problem::at(text.span.clone(), title).expected("expected such as \"-95dBm\"")
        })?,
    };
    let every_span = every.as_ref().map(|every| every.span.clone());
    let every = every.as_ref().map_or(Ok(EVERY), |every| positive(every, "every"))?;
    let wrong = |span, title: &str| Err(Problem::at(span, title.to_owned()));
    let source = match (file, interface) {
        (Some(_), Some(interface)) => {
            return wrong(interface.span, "a signal has one source, `file` or `interface`");
        }
        (None, None) => {
            let help = "or the Wi-Fi interface whose kernel is asked: interface = \"wlan0\"";
            return Err(missing_key(table.span, "file").help(help));
        }
        (Some(file), None) => match every_span {
            Some(span) => {
                return wrong(span, "a file is read whenever it changes: `every` goes with `interface`");
            }
            None => Source::File(file.value.into()),
        },
        (None, Some(interface)) => Source::Interface { name: interface.value, every },
    };
    Ok(SignalOf { source, noise })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = r#"
[freeze]
socket = "/s"
peers = ["192.0.2.0/24", "2001:db8::1"]
interface = "wlan0"
signal = {file = "/run/signal", noise = "-90dBm"}
"#;

    #[test]
    fn a_file_says_whom_it_helps() {
        let settings = Settings::parse(BASE, "x").unwrap();
        let signal = settings.signal.as_ref().unwrap();
        assert_eq!(
            (signal.noise, settings.rto_max, settings.longest),
            (Dbm(-90_000), LEAST_RTO_MAX, LONGEST)
        );
        let text = settings.describe();
        for line in [
            "to 192.0.2.0/24, 2001:db8::1, for 1min",
            "timeout is 1s",
            "nothing by wlan0",
            "/run/signal, over a noise of -90dBm",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_signal_may_be_an_interfaces_own() {
        let asked =
            |more: &str| BASE.replace("file = \"/run/signal\"", &format!("interface = \"wlan0\"{more}"));
        let settings = Settings::parse(&asked(""), "x").unwrap();
        let Source::Interface { name, every } = settings.signal.as_ref().unwrap().source.clone() else {
            panic!("an interface")
        };
        assert_eq!((name.as_str(), every), ("wlan0", EVERY));
        assert!(settings.describe().contains("asks wlan0 for its signal every 20ms, over a noise of -90dBm"));
        let slower = Settings::parse(&asked(", every = \"100ms\""), "x").unwrap();
        assert!(slower.describe().contains("every 100ms"));
    }

    #[test]
    fn a_network_means_the_peers_that_are_in_it() {
        let text = BASE.replace("\"2001:db8::1\"", "\"192.0.2.9\", \"2001:db8::1\"");
        let settings = Settings::parse(&text, "x").unwrap();
        for (by, means) in [
            ("192.0.2.0/24", "192.0.2.0/24, 192.0.2.9"),
            ("192.0.0.0/16", "192.0.2.0/24, 192.0.2.9"),
            ("192.0.2.9", "192.0.2.9"),
            ("192.0.2.7", "192.0.2.7"),
            ("198.51.100.1", ""),
            ("::/0", "192.0.2.0/24, 192.0.2.9, 2001:db8::1"),
        ] {
            let meant: Vec<String> =
                settings.meant(by.parse().unwrap()).iter().map(Network::to_string).collect();
            assert_eq!(meant.join(", "), means, "{by}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (from, to, says) in [
            ("socket", "# ", "socket"),
            ("peers", "# ", "whom connections lead to"),
            ("2001:db8::1", "host", "is no address and no network"),
            ("[\"192.0.2.0/24\", \"2001:db8::1\"]", "[]", "1 to 512"),
            ("-90dBm", "-90dB", "is no power"),
            ("file = \"/run/signal\", ", "", "file"),
            ("file = \"/run/signal\", ", "file = \"/s\", interface = \"w\", ", "one source"),
            ("file = \"/run/signal\", ", "file = \"/s\", every = \"1s\", ", "goes with `interface`"),
            ("file = \"/run/signal\", ", "interface = \"w\", every = \"0s\", ", "is zero"),
            ("signal", "rto_max = \"200ms\"\nsignal", "takes 1s to"),
            ("signal", "longest = \"0s\"\nsignal", "is zero"),
            ("peers", "peer", "did you mean"),
        ] {
            let text = BASE.replacen(from, to, 1);
            assert_ne!(text, BASE);
            let error = Settings::parse(&text, "x").unwrap_err().to_string();
            assert!(error.contains(says), "{from} -> {to}: {error}");
        }
    }
}
