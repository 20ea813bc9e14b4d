//! Connections that wait at a listener.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};

/// The next one; [`None`]: nobody waits. What ends a connection before it is taken does not concern the next one (accept(2)).
///
/// # Errors
/// What accept(2) says of this process, such as that it has too many files open.
pub fn next_connection(listener: &TcpListener) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    loop {
        match listener.accept() {
            Ok(accepted) => return Ok(Some(accepted)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream as Client;

    use super::*;

    #[test]
    fn each_that_waits_is_taken_and_then_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let clients: Vec<_> = (0..3).map(|_| Client::connect(address).unwrap()).collect();
        let mut peers = Vec::new();
        while let Some((_, peer)) = next_connection(&listener).unwrap() {
            peers.push(peer);
        }
        assert_eq!(peers, clients.iter().map(|client| client.local_addr().unwrap()).collect::<Vec<_>>());
    }
}
