//! Whose a socket of 127.0.0.1 is, from proc(5): a password is known to a program, and a port of UDP to anybody on this machine.

use std::fs;
use std::net::Ipv4Addr;

use handfast_io::net::TcpStream;

/// The state of a connection in /proc/net/tcp.
const ESTABLISHED: &str = "01";

/// The user at the other end of a connection within this machine. [`None`]: it is not there, or not one user's.
pub(super) fn of_peer(stream: &TcpStream) -> Option<u32> {
    let ports = [stream.peer_addr().ok()?.port(), stream.local_addr().ok()?.port()];
    one(&["/proc/net/tcp", "/proc/net/tcp6"], |line| {
        line.is_local() && line.ports() == Some(ports) && line.state == ESTABLISHED
    })
}

/// The user who sends from this port of UDP of 127.0.0.1. [`None`]: nobody, or not one user.
pub(super) fn of_sender(port: u16) -> Option<u32> {
    one(&["/proc/net/udp", "/proc/net/udp6"], |line| line.is_sender(port))
}

fn one(tables: &[&str], is_it: impl Fn(&Line<'_>) -> bool) -> Option<u32> {
    let texts: Vec<String> =
        tables.iter().map(|table| fs::read_to_string(table).unwrap_or_default()).collect();
    let mut users: Vec<u32> = texts.iter().flat_map(|text| users(text, &is_it)).collect();
    users.dedup();
    <[u32; 1]>::try_from(users).ok().map(|[user]| user)
}

fn users(text: &str, is_it: impl Fn(&Line<'_>) -> bool) -> Vec<u32> {
    text.lines().filter_map(Line::of).filter(|line| is_it(line)).map(|line| line.user).collect()
}

/// A socket in one of these tables.
struct Line<'a> {
    local: &'a str,
    remote: &'a str,
    state: &'a str,
    user: u32,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let &[_, local, remote, state, _, _, _, user, ..] = &fields[..] else { return None };
        Some(Self { local, remote, state, user: user.parse().ok()? })
    }

    /// Of 127.0.0.1, also as a mapped address of IPv6.
    fn is_local(&self) -> bool {
        let loopback = format!("{:08X}", u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets()));
        self.address().is_some_and(|address| address.ends_with(&loopback))
    }

    /// Whether what it sends may come from this port of 127.0.0.1: a socket that is bound to no address sends from it as well.
    fn is_sender(&self, port: u16) -> bool {
        let is_any = self.address().is_some_and(|address| address.bytes().all(|digit| digit == b'0'));
        (is_any || self.is_local()) && self.ports().is_some_and(|[local, _]| local == port)
    }

    fn address(&self) -> Option<&str> {
        self.local.rsplit_once(':').map(|(address, _)| address)
    }

    fn ports(&self) -> Option<[u16; 2]> {
        let of = |end: &str| u16::from_str_radix(end.rsplit_once(':')?.1, 16).ok();
        Some([of(self.local)?, of(self.remote)?])
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use nix::unistd::Uid;

    use super::*;

    #[test]
    fn ones_own_sockets_are_ones_own() {
        let own = Uid::effective().as_raw();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(of_peer(&TcpStream::from_std(server)), Some(own));
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::]:0"] {
            let Ok(socket) = UdpSocket::bind(at) else { continue };
            let port = socket.local_addr().unwrap().port();
            assert_eq!(of_sender(port), Some(own), "{at}");
            drop(socket);
            assert_eq!(of_sender(port), None, "{at}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn sockets_of_two_users_are_nobodys() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            1: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 11 2 0 0\n\
            2: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000  1001        0 12 2 0 0\n\
            3: 0101A8C0:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000  1002        0 13 2 0 0\n\
            4: 0000000000000000FFFF00000100007F:0036 00000000:0000 07 0:0 0:0 0  1003        0 14 2 0 0\n\
            broken\n";
        assert_eq!(users(text, |line| line.is_sender(53)), [1000, 1001], "not that of another address");
        assert_eq!(users(text, |line| line.is_sender(54)), [1003]);
    }
}
