use std::io::{Read, Write};

use mio::net::{TcpListener, TcpStream};

use super::testing::Folder;
use super::*;

/// Both ends of a connection on this machine.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = loop {
        match listener.accept() {
            Ok((server, _)) => break server,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    };
    (client, server)
}

/// Passes `said` from one end to the other, and back; what comes back, or the error of either end.
fn echo(client: &mut Stream, server: &mut Stream, said: &[u8]) -> io::Result<Vec<u8>> {
    let (mut sent, mut back, mut returned) = (0, Vec::new(), Vec::new());
    let mut buffer = [0; 1000];
    for _ in 0..100_000 {
        if sent < said.len() {
            sent += unless_blocked(client.write(&said[sent..]))?;
        }
        let read = unless_blocked(server.read(&mut buffer))?;
        back.extend_from_slice(&buffer[..read]);
        if !back.is_empty() {
            let written = unless_blocked(server.write(&back))?;
            back.drain(..written);
        }
        let read = unless_blocked(client.read(&mut buffer))?;
        returned.extend_from_slice(&buffer[..read]);
        if returned.len() == said.len() {
            return Ok(returned);
        }
    }
    panic!("{} of {} bytes came back", returned.len(), said.len());
}

fn unless_blocked(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}

/// The same between ends with these credentials.
fn talk(client: Credentials, server: Credentials, name: &str) -> io::Result<Vec<u8>> {
    let (one, other) = pair();
    let mut client = Connector::new(client, name).unwrap().connect(one)?;
    let mut server = Acceptor::new(server).unwrap().accept(other)?;
    assert!(client.is_secured() && server.is_secured());
    echo(&mut client, &mut server, &vec![7; 300_000])
}

#[test]
fn ends_of_one_authority_talk() {
    let folder = Folder::new("talk");
    let ours = || folder.credentials("ours", "ours");
    assert_eq!(talk(ours(), ours(), "127.0.0.1").unwrap(), vec![7; 300_000]);
}

#[test]
fn nobody_talks_to_a_stranger() {
    let folder = Folder::new("strangers");
    let ours = || folder.credentials("ours", "ours");
    let refused = |client, server, name| {
        let error = talk(client, server, name).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        error.to_string()
    };
    // A client of another authority, which trusts the server; a server of another authority; another name.
    assert!(refused(folder.credentials("theirs", "ours"), ours(), "127.0.0.1").contains("UnknownIssuer"));
    assert!(refused(ours(), folder.credentials("theirs", "ours"), "127.0.0.1").contains("UnknownIssuer"));
    assert!(refused(ours(), ours(), "127.0.0.2").contains("not valid for name"));
}

#[test]
fn plain_tcp_is_no_tls() {
    let folder = Folder::new("plain");
    let (one, other) = pair();
    let mut server = Acceptor::new(folder.credentials("ours", "ours")).unwrap().accept(other).unwrap();
    let mut client = Stream::from(one);
    assert!(!client.is_secured());
    let error = echo(&mut client, &mut server, b"\x04\x00\x00\x08\x00\x00\x00\x00").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
}

#[test]
fn what_the_kernel_has_not_taken_is_known() {
    let folder = Folder::new("unsent");
    let (one, other) = pair();
    let ours = || folder.credentials("ours", "ours");
    let mut client = Connector::new(ours(), "127.0.0.1").unwrap().connect(one).unwrap();
    let mut server = Acceptor::new(ours()).unwrap().accept(other).unwrap();
    assert!(matches!(client.write(b"x"), Err(error) if error.kind() == io::ErrorKind::WouldBlock));
    echo(&mut client, &mut server, b"x").unwrap();
    assert!(!client.has_unsent());
    // The server does not read.
    while client.write(&[0; 10_000]).is_ok() {}
    assert!(client.has_unsent());
    while server.read(&mut [0; 10_000]).is_ok() {
        let _ = client.flush();
    }
    assert!(!client.has_unsent());
}

#[test]
fn one_that_says_much_and_sends_nothing_holds_nobody_up() {
    let folder = Folder::new("talkative");
    let (one, other) = pair();
    let ours = || folder.credentials("ours", "ours");
    let mut client = Connector::new(ours(), "127.0.0.1").unwrap().connect(one).unwrap();
    // Tickets are no data (RFC 8446 §4.6.1). rustls takes up to 64 KiB of them at once.
    let mut config = (*Acceptor::new(ours()).unwrap().0).clone();
    config.session_storage = rustls::server::ServerSessionMemoryCache::new(2);
    config.send_tls13_tickets = 500;
    let mut server = Acceptor(Arc::new(config)).accept(other).unwrap();
    let mut turns = 0;
    let said = loop {
        let _ = unless_blocked(server.read(&mut [0; 10]));
        let _ = server.write(b"x");
        match client.read(&mut [0; 10]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => turns += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => break done.unwrap(),
        }
    };
    assert!(said > 0 && turns > 0, "{turns}");
}

#[test]
fn the_end_of_a_stream_is_said() {
    let folder = Folder::new("end");
    let (one, other) = pair();
    let ours = || folder.credentials("ours", "ours");
    let mut client = Connector::new(ours(), "127.0.0.1").unwrap().connect(one).unwrap();
    let mut server = Acceptor::new(ours()).unwrap().accept(other).unwrap();
    echo(&mut client, &mut server, b"x").unwrap();
    client.end().unwrap();
    let end = loop {
        match server.read(&mut [0; 10]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => break done.unwrap(),
        }
    };
    assert_eq!(end, 0);
}

#[test]
fn files_that_are_wrong_are_told() {
    let folder = Folder::new("files");
    let path = |name: &str| folder.path(name);
    folder.write("empty", "");
    let said = |error: Option<CredentialsError>| error.unwrap().to_string();
    assert!(said(Certificates::read(&path("nowhere")).err()).contains("No such file"));
    assert!(said(Certificates::read(&path("empty")).err()).contains("there is none"));
    assert!(said(PrivateKey::read(&path("ours-cert")).err()).contains("there is none"));
    assert!(said(Authorities::read(&path("empty")).err()).contains("there is none"));
    let mut mixed = folder.credentials("ours", "ours");
    mixed.key = PrivateKey::read(&path("theirs-key")).unwrap();
    assert!(said(Acceptor::new(mixed).err()).contains("KeyMismatch"));
    assert!(said(Connector::new(folder.credentials("ours", "ours"), "no name").err()).contains("invalid"));
}
