//! What a program says to reach a target: SOCKS5 (RFC 1928) or HTTP CONNECT (RFC 9110 §9.3.6).
//!
//! These are our own: `fast-socks5` and its like own their sockets, and wait in tasks of tokio. Here the octets come from an event
//! loop.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handfast_assist::iosl::frame::Target;

/// The longest request.
const LONGEST: usize = 8 << 10;

/// RFC 1928 §3: the method of RFC 1929.
const BY_PASSWORD: u8 = 2;

/// RFC 1928 §4: the command UDP ASSOCIATE.
const ASSOCIATE: u8 = 3;

/// The user of the password.
pub(super) const USER: &str = "handfast";

/// How a program has asked, and wants to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Socks,
    Http,
    /// It was asked for on the command line.
    Silent,
}

/// Why a program gets no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It has no password, or a wrong one.
    Stranger,
    /// It asks for something else than a connection, or makes no sense.
    Senseless,
    /// The target is not reached.
    Unreached,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More is needed.
    More,
    /// This is said to the program.
    Say(Vec<u8>),
    /// The program wants to be connected; what it has said after that.
    Asks(Target, Dialect, Vec<u8>),
    /// The program wants a relay of UDP (RFC 1928 §7). From where it will send its first datagram says, whatever it says here.
    Associates,
    /// This is said, and then it is closed.
    Refuse(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    /// RFC 1929.
    Password,
    /// RFC 1928 §4.
    Request,
}

/// One program's request.
#[derive(Debug)]
pub(super) struct Front {
    buffer: Vec<u8>,
    stage: Stage,
    /// Without it nobody is served.
    password: String,
}

impl Front {
    pub(super) fn new(password: String) -> Self {
        Self { buffer: Vec::new(), stage: Stage::Start, password }
    }

    /// The program has said something.
    pub(super) fn push(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// To be called until it wants more.
    pub(super) fn step(&mut self) -> Step {
        let step = match (self.stage, self.buffer.first()) {
            (_, None) => return Step::More,
            (Stage::Start, Some(5)) => self.greeting(),
            (Stage::Start, Some(_)) => self.http(),
            (Stage::Password, _) => self.password(),
            (Stage::Request, _) => self.request(),
        };
        match step {
            None if self.buffer.len() > LONGEST => Step::Refuse(Vec::new()),
            None => Step::More,
            Some(step) => step,
        }
    }

    /// RFC 1928 §3: version, number of methods, methods.
    fn greeting(&mut self) -> Option<Step> {
        let count = usize::from(*self.buffer.get(1)?);
        let methods: Vec<u8> = self.buffer.get(2..2 + count)?.to_vec();
        self.buffer.drain(..2 + count);
        self.stage = Stage::Password;
        let has_it = methods.contains(&BY_PASSWORD);
        Some(if has_it { Step::Say(vec![5, BY_PASSWORD]) } else { Step::Refuse(vec![5, 0xff]) })
    }

    /// RFC 1929 §2: version, user and password, each with its length.
    fn password(&mut self) -> Option<Step> {
        let user_len = usize::from(*self.buffer.get(1)?);
        let len = usize::from(*self.buffer.get(2 + user_len)?);
        let user = self.buffer.get(2..2 + user_len)?;
        let password = self.buffer.get(3 + user_len..3 + user_len + len)?;
        // How long it takes says nothing of where it differs.
        let is_password = is_same(password, self.password.as_bytes());
        let is_right = user == USER.as_bytes() && is_password && self.buffer[0] == 1;
        self.buffer.drain(..3 + user_len + len);
        self.stage = Stage::Request;
        Some(if is_right { Step::Say(vec![1, 0]) } else { Step::Refuse(vec![1, 1]) })
    }

    /// RFC 1928 §4: version, command, a zero, the kind of address, address, port.
    fn request(&mut self) -> Option<Step> {
        let &[version, command, _, kind, ..] = self.buffer.first_chunk::<4>()?;
        let (host, end) = match kind {
            1 => {
                let octets: [u8; 4] = *self.buffer.get(4..)?.first_chunk()?;
                (Ipv4Addr::from(octets).to_string(), 8)
            }
            3 => {
                let len = usize::from(*self.buffer.get(4)?);
                (String::from_utf8_lossy(self.buffer.get(5..5 + len)?).into_owned(), 5 + len)
            }
            4 => {
                let octets: [u8; 16] = *self.buffer.get(4..)?.first_chunk()?;
                (Ipv6Addr::from(octets).to_string(), 20)
            }
            _ => return Some(Step::Refuse(Dialect::Socks.refused(Refusal::Senseless))),
        };
        let port = u16::from_be_bytes(*self.buffer.get(end..)?.first_chunk()?);
        if (version, command) == (5, ASSOCIATE) {
            return Some(Step::Associates);
        }
        let target = Target::new(&host, port).filter(|_| (version, command) == (5, 1));
        let rest = self.buffer.split_off(end + 2);
        Some(match target {
            Some(target) => Step::Asks(target, Dialect::Socks, rest),
            None => Step::Refuse(Dialect::Socks.refused(Refusal::Senseless)),
        })
    }

    /// `CONNECT host:port HTTP/1.1`, and fields up to an empty line.
    fn http(&mut self) -> Option<Step> {
        let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let asked = match [words.next(), words.next(), words.next()] {
            [Some("CONNECT"), Some(authority), Some(version)] if version.starts_with("HTTP/1.") => {
                target(authority)
            }
            _ => None,
        };
        let Some(target) = asked else {
            return Some(Step::Refuse(Dialect::Http.refused(Refusal::Senseless)));
        };
        if !lines.any(|line| self.is_authorized(line)) {
            return Some(Step::Refuse(Dialect::Http.refused(Refusal::Stranger)));
        }
        let rest = self.buffer.split_off(end + 4);
        Some(Step::Asks(target, Dialect::Http, rest))
    }

    /// `Proxy-Authorization: Basic …` (RFC 7617 §2).
    fn is_authorized(&self, line: &str) -> bool {
        let Some((name, value)) = line.split_once(':') else { return false };
        let mut words = value.split_ascii_whitespace();
        let is_basic = name.eq_ignore_ascii_case("proxy-authorization")
            && words.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"));
        let expected = credentials(&self.password);
        is_basic && words.next().is_some_and(|given| is_same(given.as_bytes(), expected.as_bytes()))
    }
}

impl Dialect {
    /// That the program is connected.
    pub(super) fn granted(self) -> Vec<u8> {
        match self {
            // RFC 1928 §6; where the other side of the connection is bound nobody asks.
            Self::Socks => vec![5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
            Self::Http => b"HTTP/1.1 200 Connected\r\n\r\n".to_vec(),
            Self::Silent => Vec::new(),
        }
    }

    /// That it is not.
    pub(super) fn refused(self, why: Refusal) -> Vec<u8> {
        let (code, status) = match why {
            Refusal::Stranger => (2, "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic"),
            Refusal::Senseless => (7, "400 Bad Request"),
            Refusal::Unreached => (4, "502 Bad Gateway"),
        };
        match self {
            Self::Socks => vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0],
            Self::Http => format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n").into_bytes(),
            Self::Silent => Vec::new(),
        }
    }
}

/// The password of an end, and where it is, of its URL.
pub(super) fn end_at(url: &str) -> Option<(&str, SocketAddr)> {
    let (password, at) = url.strip_prefix("http://")?.split_once(':')?.1.split_once('@')?;
    Some((password, at.parse().ok()?))
}

/// What a program says that wants to be connected by HTTP.
pub(super) fn request(target: &Target, password: &str) -> String {
    let credentials = credentials(password);
    format!("CONNECT {target} HTTP/1.1\r\nProxy-Authorization: Basic {credentials}\r\n\r\n")
}

/// RFC 7617 §2.
fn credentials(password: &str) -> String {
    STANDARD.encode(format!("{USER}:{password}"))
}

/// `host:port`, an IPv6 address in brackets.
pub(super) fn target(authority: &str) -> Option<Target> {
    let (host, port) = authority.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Target::new(host, port.parse().ok()?)
}

/// Where an end is, as [`end_at`] reads it.
pub(super) fn address(at: SocketAddr, password: &str) -> String {
    format!("http://{USER}:{password}@{at}")
}

/// Of what a program has in its environment, what it needs whose connections come here so.
pub(super) fn for_reach(
    mut environment: Vec<(&'static str, String)>,
    reach: super::Reach,
) -> Vec<(&'static str, String)> {
    if reach != super::Reach::Asked {
        environment.retain(|(name, _)| *name == super::END_VARIABLE);
    }
    environment
}

/// What a program has in its environment that is to come here.
pub(super) fn environment(at: SocketAddr, password: &str) -> Vec<(&'static str, String)> {
    let socks = format!("socks5h://{USER}:{password}@{at}");
    let http = address(at, password);
    let no_proxy = std::env::var("NO_PROXY").or_else(|_| std::env::var("no_proxy"));
    let no_proxy = no_proxy.unwrap_or_else(|_| "localhost,127.0.0.1,::1".to_owned());
    vec![
        (super::END_VARIABLE, http.clone()),
        ("ALL_PROXY", socks.clone()),
        ("all_proxy", socks),
        ("HTTPS_PROXY", http.clone()),
        ("https_proxy", http),
        ("NO_PROXY", no_proxy.clone()),
        ("no_proxy", no_proxy),
    ]
}

fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of octets that come one by one: all that is said, and the last step.
    fn told(password: &str, octets: &[u8]) -> (Vec<u8>, Step) {
        let mut front = Front::new(password.to_owned());
        let mut said = Vec::new();
        for (at, &octet) in octets.iter().enumerate() {
            front.push(&[octet]);
            loop {
                match front.step() {
                    Step::More => break,
                    Step::Say(octets) => said.extend(octets),
                    Step::Asks(target, dialect, _) => {
                        return (said, Step::Asks(target, dialect, octets[at + 1..].to_vec()));
                    }
                    last @ (Step::Refuse(_) | Step::Associates) => return (said, last),
                }
            }
        }
        (said, Step::More)
    }

    fn asks(host: &str, port: u16, dialect: Dialect, rest: &[u8]) -> Step {
        Step::Asks(Target::new(host, port).unwrap(), dialect, rest.to_vec())
    }

    #[test]
    fn socks_asks_by_name_and_address() {
        let greeting = b"\x05\x02\x00\x02\x01\x08handfast\x02pw";
        let name = [&greeting[..], &[5, 1, 0, 3, 4], b"a.io", &[0, 22], b"SSH-"].concat();
        assert_eq!(told("pw", &name), (vec![5, 2, 1, 0], asks("a.io", 22, Dialect::Socks, b"SSH-")));
        let four = [&greeting[..], &[5, 1, 0, 1, 192, 0, 2, 5, 1, 187]].concat();
        assert_eq!(told("pw", &four).1, asks("192.0.2.5", 443, Dialect::Socks, b""));
        let six = [&greeting[..], &[5, 1, 0, 4], &[0; 15], &[1, 0, 80]].concat();
        assert_eq!(told("pw", &six).1, asks("::1", 80, Dialect::Socks, b""));
    }

    #[test]
    fn socks_asks_for_a_relay_of_udp() {
        let greeting = b"\x05\x02\x00\x02\x01\x08handfast\x02pw";
        for address in [&[1, 0, 0, 0, 0, 0, 0][..], &[3, 1, b'a', 0, 0], &[1, 127, 0, 0, 1, 200, 0]] {
            let asked = [&greeting[..], &[5, 3, 0], address].concat();
            assert_eq!(told("pw", &asked), (vec![5, 2, 1, 0], Step::Associates));
            assert_eq!(told("pX", &asked).1, Step::Refuse(vec![1, 1]));
        }
    }

    #[test]
    fn socks_wants_its_password() {
        let of = |password: &[u8]| {
            [
                &[5, 1, 2, 1, 8][..],
                b"handfast",
                &[password.len() as u8],
                password,
                &[5, 1, 0, 1, 1, 2, 3, 4, 0, 9],
            ]
            .concat()
        };
        assert_eq!(told("se", &of(b"se")), (vec![5, 2, 1, 0], asks("1.2.3.4", 9, Dialect::Socks, b"")));
        for wrong in [&b"sE"[..], b"s", b"", b"see"] {
            assert_eq!(told("se", &of(wrong)), (vec![5, 2], Step::Refuse(vec![1, 1])), "{wrong:?}");
        }
        assert_eq!(told("se", &[5, 1, 0]).1, Step::Refuse(vec![5, 0xff]), "it knows no password");
    }

    #[test]
    fn http_asks_with_its_password() {
        let head = "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n";
        let ask = |field: &str| told("pw", format!("{head}{field}\r\n\x16rest").as_bytes()).1;
        let right = "Proxy-authorization: basic aGFuZGZhc3Q6cHc=\r\n";
        assert_eq!(ask(right), asks("2001:db8::1", 443, Dialect::Http, b"\x16rest"));
        for wrong in [
            "",
            "Proxy-Authorization: Basic aGFuZGZhc3Q6cHg=\r\n",
            "Authorization: Basic aGFuZGZhc3Q6cHc=\r\n",
        ] {
            let Step::Refuse(said) = ask(wrong) else { panic!("{wrong}") };
            assert!(said.starts_with(b"HTTP/1.1 407"), "{wrong}");
        }
    }

    #[test]
    fn what_a_program_asks_is_understood() {
        assert_eq!(end_at("http://handfast:pw@127.0.0.1:9"), Some(("pw", ([127, 0, 0, 1], 9).into())));
        assert_eq!(end_at("/run/user/1/handfast/7.session"), None);
        let target = Target::new("a.io", 22).unwrap();
        let said = [request(&target, "pw").as_bytes(), b"SSH-"].concat();
        assert_eq!(told("pw", &said).1, Step::Asks(target, Dialect::Http, b"SSH-".to_vec()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &b"GET http://a/ HTTP/1.1\r\n\r\n"[..],
            b"CONNECT a HTTP/1.1\r\n\r\n",
            b"CONNECT a:0 HTTP/1.1\r\n\r\n",
            b"CONNECT a;b:1 HTTP/1.1\r\n\r\n",
            b"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x09",
            b"\x05\x01\x00\x05\x01\x00\x07",
            b"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00",
            &vec![b'x'; LONGEST + 1],
        ] {
            assert!(matches!(told("pw", wrong).1, Step::Refuse(_)), "{wrong:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_octets_are_survived(first in proptest::prop_oneof!["\x05", "CONNECT ", "[a-z]"],
                                   rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..600),
                                   password in "[a-z]{1,4}") {
            let octets = [first.as_bytes(), &rest].concat();
            let (_, last) = told(&password, &octets);
            // Nobody gets further without the password.
            proptest::prop_assert!(!matches!(last, Step::Asks(..) | Step::Associates));
        }
    }
}
