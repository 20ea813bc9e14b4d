//! What the file says: `[session]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use handfast_assist::iosl::end::Config;
use handfast_assist::iosl::secure::{Allowed, PublicKey};
use handfast_document::{
    Checked, DocumentError, Located, Problem, Size, Span, TimeSpan, integer, missing_key, positive, table,
};
use toml::Spanned;
use toml::de::DeTable;

use super::TABLE;
use super::below::Served;
use super::keys::{self, Known};
use super::targets::{TargetTable, Targets};
use crate::process::{Level, keys_of, parse, socket_address, socket_path, table_of};
use crate::services::words::LogWord;

integer! {
    /// How many there may be.
    Count: usize = 1..=100_000
}

integer! {
    /// How many clients are taken on first use.
    Pins: usize = 0..=1_000
}

table! {
    /// What an end before a server has.
    Own {
        /// Where clients connect. Required.
        listen: String,
        /// The file with its secret key, which is made at the first start. Required.
        key_file: String,
        /// The Unix socket at which it is asked how it does. Required.
        socket: String,
        /// To what it leads. Required: it leads to nothing else.
        targets: Vec<Located<TargetTable>>,
        /// The public keys of clients. Default: none.
        clients: Vec<Located<String>>,
        /// A file with further keys of clients, a line each: a name and a key. Default: none.
        clients_file: String,
        /// So many keys in `clients_file`: until it has them, clients that come are written there. Default: 0.
        pin_first: Pins,
        /// A session without a path is given up after this. Default: "10min".
        expiry: TimeSpan,
        /// Sessions. Default: 10000.
        sessions: Count,
        /// Sessions of one client. Default: 2000.
        sessions_of_one: Count,
        /// What all sessions keep together. Default: 134217728 bytes (128 MiB).
        memory: Size,
        /// What is below sessions, a word or a list of them: "tcp" (default), which is taken in any case, "mptcp", the kernel's
        /// Multipath TCP, "udp", TCP of our own in UDP, "sctp", SCTP of our own in UDP.
        below: Served,
        /// Least important messages that are logged. Default: "info".
        log: LogWord,
    }
}

/// Whom it takes sessions from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clients {
    keys: Vec<PublicKey>,
    pub(super) file: Option<PathBuf>,
    pin_first: usize,
}

/// A configuration that is right.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) listen: SocketAddr,
    pub(super) key_file: PathBuf,
    pub(super) socket: PathBuf,
    pub(super) targets: Targets,
    pub(super) clients: Clients,
    pub(super) config: Config,
    pub(super) below: Served,
    pub(super) log: Level,
}

impl Settings {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let (file, span) = keys_of::<Own>(table_of(document, TABLE)?)?;
        let missing = |key| missing_key(span.clone(), key);
        let required = |given: Option<Located<String>>, key| given.ok_or_else(|| missing(key));
        let targets = file.targets.as_ref().ok_or_else(|| {
            missing("targets").help(
                "it leads to these and to nothing else: targets = [{address = \"192.0.2.5\", ports = [22]}]",
            )
        })?;
        let mut config = Config::default();
        // A client may be behind a translator of addresses, and moves: it dials.
        config.session.dials = false;
        if let Some(expiry) = &file.expiry {
            config.session.expiry = positive(expiry, "expiry")?;
        }
        config.sessions = file.sessions.as_ref().map_or(config.sessions, |count| count.value.0);
        config.sessions_of_one =
            file.sessions_of_one.as_ref().map_or(config.sessions_of_one, |count| count.value.0);
        config.pool = file.memory.as_ref().map_or(config.pool, |size| size.value.0.get());
        Ok(Self {
            listen: socket_address(&required(file.listen, "listen")?)?,
            key_file: required(file.key_file, "key_file")?.value.into(),
            socket: socket_path(&required(file.socket, "socket")?)?.into(),
            targets: Targets::read(&targets.value)?,
            clients: clients(file.clients.as_ref(), file.clients_file, file.pin_first.as_ref(), &span)?,
            config,
            below: file.below.map(|below| below.value).unwrap_or_default(),
            log: file.log.map(|log| log.value).unwrap_or_default().into(),
        })
    }

    /// What it would do, for people.
    pub(super) fn describe(&self) -> String {
        let Config { session, sessions, sessions_of_one, pool, .. } = self.config;
        let listed = match self.clients.keys.len() {
            1 => "1 key of a client".to_owned(),
            many => format!("{many} keys of clients"),
        };
        let file = self.clients.file.as_ref().map_or_else(String::new, |file| {
            let first = match self.clients.pin_first {
                0 => String::new(),
                first => format!(", into which the first {first} that come are written"),
            };
            format!(", and those in {}{first}", file.display())
        });
        format!(
            "listens for clients at {} {}, with the key in {}\ntakes {listed}{file}\n{}\
             keeps a session without a path for {}\n\
             takes {sessions} sessions, of one client {sessions_of_one}, which keep {pool} bytes together\n\
             is asked at {}\n",
            self.listen,
            self.below.in_words(),
            self.key_file.display(),
            self.targets.describe(),
            session.expiry,
            self.socket.display(),
        )
    }
}

impl Clients {
    /// The keys that count now, those in the file too.
    pub(super) fn allowed(&self) -> Result<Allowed, String> {
        let mut keys: std::collections::BTreeSet<_> = self.keys.iter().copied().collect();
        let mut pins = 0;
        if let Some(file) = &self.file {
            let known = Known::read(file)?;
            keys.extend(known.keys());
            pins = self.pin_first.saturating_sub(known.keys().count());
        }
        Ok(Allowed { keys, pins })
    }
}

fn clients(
    keys: Option<&Located<Vec<Located<String>>>>,
    file: Option<Located<String>>,
    pins: Option<&Located<Pins>>,
    table: &Span,
) -> Checked<Clients> {
    if keys.is_none() && file.is_none() {
        return Err(missing_key(table.clone(), "clients")
            .help("whose sessions it takes: clients = [\"KEY\"], as `handfastd session key` prints it"));
    }
    let pin_first = match (pins, &file) {
        (Some(pins), None) => {
            let title = "there is no file into which keys could be written";
            return Err(Problem::at(pins.span.clone(), title).expected("a key `clients_file`"));
        }
        (pins, _) => pins.map_or(0, |pins| pins.value.0),
    };
    let of = |text: &Located<String>| {
        keys::parse(text).ok_or_else(|| {
            Problem::at(text.span.clone(), "this is no key")
                .expected("64 hexadecimal digits, as `handfastd session key` prints them")
        })
    };
    let keys = keys.into_iter().flat_map(|keys| &keys.value).map(of).collect::<Checked<_>>()?;
    Ok(Clients { keys, file: file.map(|file| file.value.into()), pin_first })
}

#[cfg(test)]
mod tests {
    use handfast_assist::iosl::frame::Target;
    use handfast_assist::iosl::inside::Kind;

    use super::*;

    const BASE: &str = r#"
[session]
listen = "0.0.0.0:7443"
key_file = "/k"
socket = "/s"
clients = ["00000000000000000000000000000000000000000000000000000000000000ff"]
targets = [
    {address = "192.0.2.5", ports = [22, 5432], names = ["Server.example"]},
    {address = "127.0.0.1", ports = [25], names = ["mail.example"], proxy_protocol = "v2"},
]
"#;

    #[test]
    fn a_file_says_to_what_it_leads() {
        let settings = Settings::parse(BASE, "x").unwrap();
        let find = |host: &str, port| settings.targets.find(&Target::new(host, port).unwrap());
        assert_eq!(find("server.EXAMPLE", 22).unwrap().address, "192.0.2.5:22".parse().unwrap());
        assert_eq!(find("192.0.2.5", 5432), find("server.example", 5432));
        for (host, port) in [("192.0.2.5", 23), ("192.0.2.6", 22), ("localhost", 25), ("mail.example", 22)] {
            assert_eq!(find(host, port), None, "{host} {port}");
        }
        let udp = BASE
            .replace("names = [\"S", "udp_ports = [53], names = [\"S")
            .replace("ports = [25], ", "udp_ports = [53], ");
        let with_udp = Settings::parse(&udp, "x").unwrap();
        let find_udp = |host: &str, port| with_udp.targets.find(&Target::of_datagrams(host, port).unwrap());
        assert_eq!(find_udp("server.example", 53).unwrap().address, "192.0.2.5:53".parse().unwrap());
        assert_eq!(
            (find_udp("server.example", 22), find_udp("mail.example", 25)),
            (None, None),
            "of TCP alone"
        );
        assert_eq!(with_udp.targets.find(&Target::new("server.example", 53).unwrap()), None, "of UDP alone");
        for line in ["leads server.example UDP port 53 to 192.0.2.5:53", "before each datagram"] {
            assert!(with_udp.describe().contains(line), "{}", with_udp.describe());
        }
        assert!(settings.clients.allowed().unwrap().keys.len() == 1 && !settings.config.session.dials);
        let text = settings.describe();
        for line in ["listens for clients at 0.0.0.0:7443", "1 key of a client", "leads mail.example port 25"]
        {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn below_sessions_there_is_one_thing_or_several() {
        let read =
            |below: &str| Settings::parse(&BASE.replace("listen", &format!("below = {below}\nlisten")), "x");
        let default = Settings::parse(BASE, "x").unwrap().below;
        assert_eq!((default.names(), default.inside()), (vec!["tcp"], vec![]));
        for (below, names, inside) in [
            ("\"tcp\"", &["tcp"][..], &[][..]),
            ("\"udp\"", &["tcp", "udp"], &[Kind::Tcp]),
            ("[\"sctp\", \"udp\"]", &["tcp", "udp", "sctp"], &[Kind::Tcp, Kind::Sctp]),
            ("[\"tcp\", \"sctp\"]", &["tcp", "sctp"], &[Kind::Sctp]),
            ("[\"mptcp\", \"tcp\", \"udp\"]", &["mptcp", "udp"], &[Kind::Tcp]),
        ] {
            let settings = read(below).unwrap();
            assert_eq!(
                (&settings.below.names()[..], &settings.below.inside()[..]),
                (names, inside),
                "{below}"
            );
        }
        let both = read("[\"udp\", \"sctp\"]").unwrap().describe();
        assert!(both.contains("0.0.0.0:7443 by TCP, by TCP in UDP, by SCTP in UDP, with"), "{both}");
        for (below, says) in [
            ("\"upd\"", "did you mean"),
            ("[\"udp\", \"stcp\"]", "did you mean"),
            ("[]", "a word, or a list of them"),
            ("[\"udp\", \"udp\"]", "\"udp\" is there twice"),
            ("7", "a word, or a list of them"),
        ] {
            let error = read(below).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("below"), "{below}: {error}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (from, to, says) in [
            (
                "proxy_protocol = \"v2\"",
                "proxy_protocol = \"none\"",
                "would take every client for this machine",
            ),
            ("\"192.0.2.5\"", "\"::1\"", "proxy_protocol = \"v2\""),
            ("\"192.0.2.5\"", "\"0.0.0.0\"", "would take every client for this machine"),
            ("\"192.0.2.5\"", "\"::ffff:127.0.0.2\"", "would take every client for this machine"),
            ("\"192.0.2.5\"", "\"server\"", "is no IP address"),
            ("[22, 5432]", "[]", "expected ports"),
            ("ports = [22, 5432], ", "", "`udp_ports`, or both"),
            ("ports = [22, 5432]", "udp_ports = [0]", "expected ports"),
            ("ports = [22, 5432]", "udp_ports = [53], client_address = true", "a table of their own"),
            (
                "ports = [25], names = [\"mail.example\"], proxy_protocol = \"v2\"",
                "udp_ports = [53]",
                "at 127.0.0.1",
            ),
            ("[22, 5432]", "[22, 22]", "stands for two targets"),
            ("Server.example", "a b", "is no host name"),
            ("targets = [", "target = [", "did you mean"),
            ("ff\"]", "f\"]", "64 hexadecimal digits"),
            ("clients = [", "pin_first = 1\nclients = [", "clients_file"),
            ("clients", "# ", "whose sessions it takes"),
            ("0.0.0.0:7443", "7443", "is not an address with a port"),
            ("[session]", "[sesion]", "there is no table [session]"),
        ] {
            let text = BASE.replacen(from, to, 1);
            assert_ne!(text, BASE);
            let error = Settings::parse(&text, "x").unwrap_err().to_string();
            assert!(error.contains(says), "{from} -> {to}: {error}");
        }
        let without = &BASE[..BASE.find("targets").unwrap()];
        assert!(Settings::parse(without, "x").unwrap_err().to_string().contains("to nothing else"));
    }
}
