//! A bare relay: what comes at one address goes to another one, without sessions and without encryption. `bench/session.py` compares
//! with two of them.
//!
//! `relay LISTEN TARGET`

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut chunk = vec![0; 128 << 10];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..read]).is_err() {
            break;
        }
    }
    // The other side may be gone.
    let _ = to.shutdown(Shutdown::Write);
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, target] = arguments.as_slice() else {
        return Err(io::Error::other("expected LISTEN and TARGET"));
    };
    for client in TcpListener::bind(listen)?.incoming() {
        let (client, server) = (client?, TcpStream::connect(target)?);
        let (from, to) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || copy(client, server));
        thread::spawn(move || copy(from, to));
    }
    Ok(())
}
