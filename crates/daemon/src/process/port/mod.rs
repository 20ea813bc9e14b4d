//! What is in the way of a service that listens at a TCP port.

mod holder;

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

use holder::listening_at;

/// What keeps a service from listening at `listen`, and what to do next; [`None`]: nothing.
pub(crate) fn port_obstacle(listen: SocketAddr) -> Option<String> {
    let error = TcpListener::bind(listen).err()?;
    Some(format!("listen: {listen} {}", why(listen, &error)))
}

fn why(listen: SocketAddr, error: &io::Error) -> String {
    let port = listen.port();
    match error.kind() {
        ErrorKind::AddrInUse => {
            let who = listening_at(port).map_or_else(
                || format!("another program; see which (ss -ltnp 'sport = :{port}')"),
                |holder| format!("{holder}; stop that first"),
            );
            format!("is taken by {who}, or choose another port")
        }
        ErrorKind::PermissionDenied => {
            "may not be used: ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another port"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            "is no address of this machine; choose one that `ip address` shows, or 127.0.0.1".to_owned()
        }
        _ => format!("cannot be used ({error}); choose another address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_says_what_to_do() {
        let listen: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let of = |kind: ErrorKind| why(listen, &kind.into());
        assert!(of(ErrorKind::PermissionDenied).contains("ports below 1024 need root"));
        assert!(of(ErrorKind::AddrNotAvailable).contains("`ip address`"));
        assert!(of(ErrorKind::OutOfMemory).contains("choose another address"));
        // Nobody listens at port 0.
        let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let taken = why(free, &ErrorKind::AddrInUse.into());
        assert_eq!(
            taken,
            "is taken by another program; see which (ss -ltnp 'sport = :0'), or choose another port"
        );
    }
}
