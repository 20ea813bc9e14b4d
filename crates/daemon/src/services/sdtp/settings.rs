//! What the file says: `[sdtp]`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use handfast_assist::Sdtp;
use handfast_assist::sdtp::auth::Key;
use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_assist::sdtp::{Config, Node, Sealing};
use handfast_document::{Checked, DocumentError, Located, Problem, Span, Table, missing_key, table};
use handfast_io::frame_io::Method;
use handfast_io::tls::Connector;
use handfast_io::{XdpMode, wall_ms};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::NAME;
use super::shared::{hosts, take};
use crate::process::{Level, address, keys_of, parse, socket_address, socket_path, table_of};
use crate::services::tls::{self, TlsTable};
use crate::services::words::{DatapathId, LogWord, ModeWord, hex_key};

/// Bytes of an interface's name (`IFNAMSIZ` without its end).
const LONGEST_NAME: usize = 15;

table! {
    /// What a node has of its own. What a scenario tells its nodes too is in the table of scenarios ([`super::shared`]).
    Own {
        /// The node's address in SDTP packets. Required.
        address: String,
        /// The node's identity at the controller. Required.
        datapath_id: DatapathId,
        /// The interface to the hosts; of a node without hosts one of both. Required.
        inside: String,
        /// The other interface. Required.
        outside: String,
        /// The hosts inside: addresses and prefixes. Default: none, then the node is no edge.
        hosts: Vec<Located<String>>,
        /// Where the controller listens. Required.
        controller: String,
        /// With what the controller and the node prove to each other who they are. Default: TCP alone.
        tls: TlsTable,
        /// What the controller's certificate calls it. Default: the address in `controller`.
        controller_name: String,
        /// The Unix socket at which the node is asked how it does. Required.
        socket: String,
        /// The file with the network's key: 64 hexadecimal digits. Required, unless `seal = false`.
        key_file: String,
        /// How frames come and leave: "auto" (default), "mmsg", "ring", "ring-xdp" or "xdp".
        packet_io: PacketIo,
        /// "observe" (default): count what would be converted, touch nothing. "act": do it.
        mode: ModeWord,
        /// Least important messages that are logged. Default: "info".
        log: LogWord,
    }
}

/// How frames come and leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PacketIo {
    /// What was measured to be the fastest (docs/reference/sdtp.md), and where it does not work the next one.
    #[default]
    Auto,
    /// [`Method::Socket`].
    Mmsg,
    /// [`Method::Ring`].
    Ring,
    /// [`Method::RingXdp`].
    RingXdp,
    /// [`Method::Xdp`], native where the driver has it.
    Xdp,
}

impl PacketIo {
    /// The ways to try, in order.
    pub(super) fn methods(self) -> Vec<Method> {
        match self {
            Self::Auto => vec![Method::RingXdp, Method::Ring, Method::Socket],
            Self::Mmsg => vec![Method::Socket],
            Self::Ring => vec![Method::Ring],
            Self::RingXdp => vec![Method::RingXdp],
            Self::Xdp => vec![Method::Xdp(XdpMode::Native), Method::Xdp(XdpMode::Generic)],
        }
    }
}

/// A configuration that is right.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) address: IpAddr,
    pub(super) datapath_id: u64,
    /// By [`Side`].
    pub(super) interfaces: [String; 2],
    pub(super) hosts: BTreeSet<IpAddr>,
    pub(super) controller: SocketAddr,
    /// How the controller proves who it is; [`None`]: not at all.
    pub(super) tls: Option<TlsTable>,
    /// What its certificate calls it.
    pub(super) controller_name: String,
    pub(super) socket: PathBuf,
    pub(super) packet_io: PacketIo,
    pub(super) mode: Mode,
    pub(super) log: Level,
    pub(super) config: Config,
}

impl Settings {
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, DocumentError> {
        parse(text, name, Self::read)
    }

    fn read(document: Spanned<DeTable<'_>>) -> Checked<Self> {
        let mut table = table_of(document, NAME)?;
        let is_nodes =
            |key: &str| !Sdtp::NETWORK_KEYS.contains(&key) && !Sdtp::CONTROLLER_KEYS.contains(&key);
        let Sdtp { mut config, seal, .. } = take(table.get_mut(), Own::KEYS, is_nodes)?;
        let (file, span) = keys_of::<Own>(table)?;
        let missing = |key| missing_key(span.clone(), key);
        let required = |given: Option<Located<String>>, key| given.ok_or_else(|| missing(key));
        let (inside, outside) = (required(file.inside, "inside")?, required(file.outside, "outside")?);
        if inside.value == outside.value {
            return Err(Problem::at(outside.span.clone(), "both sides are the same interface"));
        }
        let hosts = hosts(file.hosts.as_ref().map_or(&[], |hosts| &hosts.value))?;
        config.sealing = if seal { Some(sealing(file.key_file.as_ref(), &span)?) } else { None };
        let own = required(file.address, "address")?;
        let address = address(&own)?;
        if hosts.contains(&address) {
            return Err(Problem::at(own.span.clone(), "a host has this address")
                .help("SDTP packets go from edge to edge: give the node an address that nobody else has"));
        }
        let at = required(file.controller, "controller")?;
        let controller = socket_address(&at)?;
        Ok(Self {
            address,
            datapath_id: file.datapath_id.ok_or_else(|| missing("datapath_id"))?.0,
            interfaces: [interface(inside)?, interface(outside)?],
            hosts,
            controller,
            controller_name: controller_name(file.tls.is_some(), file.controller_name.as_ref(), controller)?,
            tls: file.tls.map(|tls| tls.value),
            socket: socket_path(&required(file.socket, "socket")?)?.into(),
            packet_io: file.packet_io.map(|way| way.value).unwrap_or_default(),
            mode: match file.mode.map(|mode| mode.value).unwrap_or_default() {
                ModeWord::Observe => Mode::Observe,
                ModeWord::Act => Mode::Act,
            },
            log: file.log.map(|log| log.value).unwrap_or_default().into(),
            config: *config,
        })
    }

    /// Switched off, it only observes, whatever the file says.
    pub(super) fn switch_off(&mut self, off: bool) {
        if off {
            self.mode = Mode::Observe;
        }
    }

    /// What connects to the controller, where it has to prove who it is.
    pub(super) fn connector(&self) -> Result<Option<Connector>, String> {
        self.tls.as_ref().map(|tls| tls.connector(&self.controller_name)).transpose()
    }

    /// The node.
    pub(super) fn node(&self) -> Node {
        let hosts: BTreeMap<_, _> = self.hosts.iter().map(|&host| (host, Side::Inside.port())).collect();
        Node::new(self.address, hosts, self.config.clone())
    }

    /// What it would do, for people.
    pub(super) fn describe(&self) -> String {
        let [inside, outside] = &self.interfaces;
        let mode = match self.mode {
            Mode::Observe => "observe: passes all frames as they come, and counts what it would convert",
            Mode::Act => "act: converts, keeps copies and repairs as the controller orders",
        };
        let hosts = match self.hosts.len() {
            0 => "no hosts: a node of the core".to_owned(),
            1 => "an edge with 1 host inside".to_owned(),
            many => format!("an edge with {many} hosts inside"),
        };
        let Config { carriage, mtu, ref sealing, .. } = self.config;
        let sealed =
            if sealing.is_some() { "sealed" } else { "not sealed: whoever is in the core can forge it" };
        let (address, id) = (self.address, self.datapath_id);
        let ways: Vec<&str> = self.packet_io.methods().into_iter().map(Method::name).collect();
        let ways = ways.join(", or ");
        format!(
            "{mode}\nbridges {inside} (inside) and {outside} (outside), whose offloads are turned off\n\
             frames come and leave by {ways}\n{hosts}\n\
             node {address}, datapath id {id:016x}, packets in {carriage:?} of at most {mtu} bytes\n\
             what nodes tell each other is {sealed}\nconnects to the controller at {}{}\nis asked at {}\n",
            self.controller,
            tls::by(self.tls.as_ref()),
            self.socket.display(),
        )
    }
}

/// What the controller's certificate calls it: its address, where nothing is said.
fn controller_name(has_tls: bool, name: Option<&Located<String>>, controller: SocketAddr) -> Checked<String> {
    match name {
        Some(name) if !has_tls => {
            let title = "without a table `tls` the controller shows no certificate";
            Err(Problem::at(name.span.clone(), title))
        }
        Some(name) => tls::name(name),
        None => Ok(controller.ip().to_string()),
    }
}

/// With what the node seals. Its counter begins with the time of day: above all that it has used before it was started again.
fn sealing(file: Option<&Located<String>>, table: &Span) -> Checked<Sealing> {
    let Some(path) = file else {
        return Err(missing_key(table.clone(), "key_file").help(
            "nodes seal what they tell each other: make a key (openssl rand -hex 32), or say `seal = false`",
        ));
    };
    let wrong = |what: String| Problem::at(path.span.clone(), format!("{}: {what}", path.value));
    let text = std::fs::read_to_string(&path.value).map_err(|error| wrong(error.to_string()))?;
    let key = hex_key(text.trim())
        .ok_or_else(|| wrong("this is no key".to_owned()).expected("64 hexadecimal digits"))?;
    Ok(Sealing { key: Key::new(key), first: wall_ms() * 1_000_000 })
}

fn interface(name: Located<String>) -> Checked<String> {
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(['/', '\0']) {
        let title = format!("an interface's name has 1 to {LONGEST_NAME} bytes");
        return Err(Problem::at(name.span.clone(), title));
    }
    Ok(name.value)
}

#[cfg(test)]
mod tests {
    use handfast_core::Duration;
    use handfast_wire::sdtp::Carriage;

    use super::*;

    const BASE: &str = r#"
[sdtp]
address = "10.99.0.1"
datapath_id = "00000000000000a1"
inside = "eth0"
outside = "eth1"
hosts = ["10.0.1.0/24", "fd00::1"]
controller = "127.0.0.1:6654"
socket = "/run/handfastd/sdtp.sock"
seal = false
carriage = "ip"
persistence = "150ms"
"#;

    #[test]
    fn a_node_is_read_with_the_keys_of_scenarios() {
        let settings = Settings::parse(BASE, "x").unwrap();
        assert_eq!(settings.mode, Mode::Observe, "the first start changes nothing");
        assert_eq!((settings.hosts.len(), settings.datapath_id), (257, 0xa1));
        assert_eq!(settings.config.carriage, Carriage::Ip);
        assert_eq!(settings.config.resequencing.persistence, Duration::from_millis(150));
        let text = settings.describe();
        for line in [
            "observe: passes all frames",
            "bridges eth0 (inside) and eth1",
            "leave by ring-xdp, or ring, or mmsg",
            "an edge with 257 hosts",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let core = BASE.replace("hosts = [\"10.0.1.0/24\", \"fd00::1\"]\n", "");
        assert!(!Settings::parse(&core, "x").unwrap().node().is_edge());
        let apart = format!("{BASE}resequencing = \"40ms\"\n");
        let config = Settings::parse(&apart, "x").unwrap().config;
        let both = [config.resequencing.persistence, config.thresholds.persistence];
        assert_eq!(both, [40, 150].map(Duration::from_millis));
    }

    #[test]
    fn a_slice_may_keep_what_one_connection_may() {
        let large = format!("{BASE}cache = \"100MB\"\n");
        let quotas = Settings::parse(&large, "x").unwrap().config.caching.quotas;
        let all = [quotas.per_connection, quotas.per_host, quotas.per_slice, quotas.total];
        assert_eq!(all.map(handfast_core::Bytes::get), [100, 100, 100, 256].map(|mb| mb * 1_000_000));
    }

    #[test]
    fn the_example_observes() {
        let settings = Settings::parse(include_str!("../../../../../examples/sdtp.toml"), "x").unwrap();
        assert_eq!((settings.mode, settings.hosts.len()), (Mode::Observe, 256));
    }

    #[test]
    fn switched_off_it_observes() {
        let mut settings = Settings::parse(&format!("{BASE}mode = \"act\"\n"), "x").unwrap();
        assert_eq!(settings.mode, Mode::Act);
        settings.switch_off(true);
        assert_eq!(settings.mode, Mode::Observe);
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (from, to, says) in [
            ("address = \"10.99.0.1\"\n", "", "address"),
            ("10.99.0.1", "10.99.0", "is no IP address"),
            ("10.99.0.1", "10.0.1.7", "a host has this address"),
            ("outside = \"eth1\"", "outside = \"eth0\"", "both sides are the same interface"),
            ("\"eth1\"", "\"a-name-of-sixteen\"", "1 to 15 bytes"),
            ("10.0.1.0/24", "10.0.1.0/8", "names no hosts"),
            ("127.0.0.1:6654", "controller", "is not an address with a port"),
            ("/run/handfastd/sdtp.sock", "", "a socket's path"),
            ("00000000000000a1", "a1", "16 hexadecimal digits"),
            ("carriage = \"ip\"", "carriage = \"tcp\"", "carriage"),
            ("carriage = \"ip\"", "carriag = \"ip\"", "did you mean"),
            ("carriage = \"ip\"", "control_delay = \"5ms\"", "has another place"),
            ("carriage = \"ip\"", "placement = \"nowhere\"", "has another place"),
            ("seal = false", "", "key_file"),
            ("seal = false", "key_file = \"/no/such/file\"", "No such file"),
            ("seal = false", "key_file = \"/dev/null\"", "64 hexadecimal digits"),
            ("persistence = \"150ms\"", "persistence = \"0s\"", "is zero"),
            ("persistence = \"150ms\"", "mode = \"off\"", "mode"),
            ("persistence = \"150ms\"", "packet_io = \"dpdk\"", "packet_io"),
            ("[sdtp]", "[sdpt]", "there is no table [sdtp]"),
        ] {
            let text = BASE.replacen(from, to, 1);
            assert_ne!(text, BASE);
            let error = Settings::parse(&text, "x").unwrap_err().to_string();
            assert!(error.contains(says), "{from} -> {to}: {error}");
        }
    }
}
