//! To what sessions may lead: a list without a default. An end before a server is no open proxy.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use handfast_assist::iosl::frame::Target;
use handfast_document::{Checked, Located, Problem};
use schemars::JsonSchema;
use serde::Deserialize;

/// A target as the file has it.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetTable {
    /// Where it is: an IP address.
    address: Located<String>,
    /// Its ports of TCP. Default: none.
    ports: Option<Located<Vec<u16>>>,
    /// Its ports of UDP. Default: none.
    udp_ports: Option<Located<Vec<u16>>>,
    /// What clients call it besides the address. Default: nothing.
    #[serde(default)]
    names: Vec<Located<String>>,
    /// What the target is told of the client: "none" (default), or "v2", the PROXY protocol.
    #[serde(default)]
    proxy_protocol: ProxyWord,
    /// Whether its connection comes from the client's address (`IP_TRANSPARENT`). Default: false.
    #[serde(default)]
    client_address: bool,
}

/// Whether a target is told who the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProxyWord {
    /// It sees a connection of this machine.
    #[default]
    None,
    /// It gets a header of the PROXY protocol, version 2, before all else.
    V2,
}

/// Where a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) address: SocketAddr,
    pub(super) proxy: ProxyWord,
    /// Whether it sees the client's address as its connection's source.
    pub(super) client_address: bool,
}

/// What clients call a target: its host in small letters, its port, and whether that is one of UDP.
type Key = (String, u16, bool);

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Targets(BTreeMap<Key, Place>);

impl Targets {
    pub(super) fn read(tables: &[Located<TargetTable>]) -> Checked<Self> {
        let mut all = BTreeMap::new();
        for table in tables {
            let address = address(&table.address, table.proxy_protocol)?;
            let ports = ports(table)?;
            let own = Located { span: table.address.span.clone(), value: address.to_string() };
            for name in table.names.iter().chain([&own]) {
                for &(port, is_udp) in &ports {
                    let of = if is_udp { Target::of_datagrams } else { Target::new };
                    let target = of(name, port).ok_or_else(|| {
                        let title = format!("`{}` is no host name", name.escape_debug());
                        Problem::at(name.span.clone(), title)
                    })?;
                    let place = Place {
                        address: (address, port).into(),
                        proxy: table.proxy_protocol,
                        client_address: table.client_address,
                    };
                    if all.insert(key(&target), place).is_some() {
                        let title = format!("{target} stands for two targets");
                        return Err(Problem::at(name.span.clone(), title));
                    }
                }
            }
        }
        Ok(Self(all))
    }

    /// Where a client is led that asks for this.
    pub(super) fn find(&self, target: &Target) -> Option<Place> {
        self.0.get(&key(target)).copied()
    }

    /// What a plan says of them, a line each.
    pub(super) fn describe(&self) -> String {
        let line = |((host, port, is_udp), place): (&Key, &Place)| {
            let told = match place.proxy {
                ProxyWord::V2 if *is_udp => {
                    "which is told the client's address before each datagram (PROXY protocol, version 2)"
                }
                ProxyWord::None if place.client_address => "which sees the client's address as its client",
                ProxyWord::None => "which sees this machine as its client",
                ProxyWord::V2 => "which is told the client's address (PROXY protocol, version 2)",
            };
            let of = if *is_udp { "UDP port" } else { "port" };
            format!("leads {host} {of} {port} to {}, {told}\n", place.address)
        };
        self.0.iter().map(line).collect()
    }
}

/// Names of hosts are the same in capitals (RFC 4343 §2).
fn key(target: &Target) -> Key {
    (target.host().to_ascii_lowercase(), target.port(), target.is_datagrams())
}

/// The ports of a table, and whether each is one of UDP.
fn ports(table: &Located<TargetTable>) -> Checked<Vec<(u16, bool)>> {
    let mut all = Vec::new();
    for (given, is_udp) in [(&table.ports, false), (&table.udp_ports, true)] {
        let Some(ports) = given else { continue };
        if ports.is_empty() || ports.contains(&0) {
            return Err(Problem::at(ports.span.clone(), "expected ports from 1 to 65535"));
        }
        all.extend(ports.iter().map(|&port| (port, is_udp)));
    }
    if all.is_empty() {
        let title = "this target has no ports";
        return Err(Problem::at(table.span.clone(), title).expected("`ports` of TCP, `udp_ports`, or both"));
    }
    match &table.udp_ports {
        // Its answers would leave this machine: the kernel lets a listener take a mark over for connections of TCP alone.
        Some(ports) if table.client_address => {
            Err(Problem::at(ports.span.clone(), "a target of UDP cannot see the client's address as its client")
                .expected("no `client_address` where `udp_ports` are")
                .help("give its ports of UDP a table of their own, or proxy_protocol = \"v2\" where the server takes it"))
        }
        _ => Ok(all),
    }
}

fn address(text: &Located<String>, proxy: ProxyWord) -> Checked<IpAddr> {
    let address = crate::process::address(text)
        .map_err(|problem| problem.help("what clients call it stands in `names`"))?
        .to_canonical();
    if proxy == ProxyWord::None && (address.is_loopback() || address.is_unspecified()) {
        let title = format!("a server at {address} would take every client for this machine");
        return Err(Problem::at(text.span.clone(), title)
            .expected("it sees 127.0.0.1, and rules for local users (pg_hba, from= of ssh) hold for anybody with a key")
            .help(
                "give an address of this machine that others reach, there with client_address = true where rules are by address, or, where the server takes it: proxy_protocol = \"v2\"",
            ));
    }
    Ok(address)
}

/// Of the two ends of a header of the PROXY protocol: by what they speak (proxy-protocol.txt §2.2).
const STREAM: u8 = 1;
const DATAGRAM: u8 = 2;

/// The header of the PROXY protocol, version 2 (haproxy's proxy-protocol.txt §2.2), for a client and where it connects.
pub(super) fn proxy_header(client: SocketAddr, target: SocketAddr) -> Vec<u8> {
    header_of(client, target, STREAM)
}

/// The same before each datagram, as name servers take it (BIND, Unbound).
pub(super) fn datagram_header(client: SocketAddr, target: SocketAddr) -> Vec<u8> {
    header_of(client, target, DATAGRAM)
}

fn header_of(client: SocketAddr, target: SocketAddr, transport: u8) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21".to_vec();
    let mut addresses = Vec::new();
    let family = match (client.ip().to_canonical(), target.ip().to_canonical()) {
        (IpAddr::V4(client), IpAddr::V4(target)) => {
            addresses.extend(client.octets());
            addresses.extend(target.octets());
            0x10 | transport
        }
        (client, target) => {
            for address in [client, target] {
                addresses.extend(match address {
                    IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                    IpAddr::V6(address) => address.octets(),
                });
            }
            0x20 | transport
        }
    };
    addresses.extend([client.port(), target.port()].iter().flat_map(|port| port.to_be_bytes()));
    header.push(family);
    header.extend((addresses.len() as u16).to_be_bytes());
    header.extend(addresses);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_header_is_as_its_specification_has_it() {
        let of = |client: &str, target: &str| proxy_header(client.parse().unwrap(), target.parse().unwrap());
        let header = of("192.0.2.7:4660", "127.0.0.1:22");
        assert_eq!(header[..12], [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
        assert_eq!(header[12..16], [0x21, 0x11, 0, 12]);
        assert_eq!(header[16..], [192, 0, 2, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 22]);
        let header = of("192.0.2.7:1", "[2001:db8::1]:2");
        assert_eq!((header[13], header[15], header.len()), (0x21, 36, 52));
        let client = "192.0.2.7:1".parse().unwrap();
        let families = ["127.0.0.1:2", "[2001:db8::1]:2"]
            .map(|target| datagram_header(client, target.parse().unwrap())[13]);
        assert_eq!(families, [0x12, 0x22]);
        assert_eq!(header[16..32], *b"\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x07");
    }
}
