//! Switches that prove who they are, and some that do not.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use handfast_io::tls::testing::Folder;
use handfast_io::tls::{Connector, Stream};
use handfast_wire::openflow::{Body, Hello, Message, VERSION};
use nix::sys::signal::Signal;

use crate::support::{ACT, Daemon, PATIENCE, Switch, bytes_of};

/// A controller that believes the authority `ours`, whose file may be exchanged.
fn controller(folder: &Folder) -> Daemon {
    fs::copy(folder.path("ours-ca"), folder.path("believed")).unwrap();
    let path = |name| folder.path(name).display().to_string();
    Daemon::start(&format!(
        "{ACT}\n[tls]\ncertificate = \"{}\"\nkey = \"{}\"\nauthorities = \"{}\"",
        path("ours-cert"),
        path("ours-key"),
        path("believed"),
    ))
}

fn connect(daemon: &Daemon, connector: &Connector) -> Stream {
    connector.connect(handfast_io::net::TcpStream::connect(daemon.address).unwrap()).unwrap()
}

/// The first message that comes, or why none does.
fn first(stream: &mut Stream) -> Result<Body, String> {
    let (deadline, mut incoming) = (Instant::now() + PATIENCE, Vec::new());
    while Instant::now() < deadline {
        let mut chunk = [0; 1000];
        match stream.read(&mut chunk) {
            Ok(0) => return Err("closed".to_owned()),
            Ok(read) => incoming.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => return Err(error.to_string()),
        }
        if let Some(len) = Message::framed_len(&incoming).unwrap() {
            return Ok(Message::parse(&incoming[..len].to_vec().into()).unwrap().body);
        }
    }
    panic!("nothing came: {incoming:?}")
}

#[test]
fn a_switch_that_proves_who_it_is_is_greeted() {
    let folder = Folder::new("greeted");
    let daemon = controller(&folder);
    let ours = Connector::new(folder.credentials("ours", "ours"), "127.0.0.1").unwrap();
    assert!(matches!(first(&mut connect(&daemon, &ours)), Ok(Body::Hello(_))));
}

#[test]
fn a_stranger_and_one_without_tls_hear_nothing() {
    let folder = Folder::new("stranger");
    let mut daemon = controller(&folder);
    let theirs = Connector::new(folder.credentials("theirs", "ours"), "127.0.0.1").unwrap();
    let said = first(&mut connect(&daemon, &theirs)).unwrap_err();
    assert!(said.contains("received fatal alert"), "{said}");
    let why = daemon.logged("connection lost")["why"].to_string();
    assert!(why.contains("TLS: invalid peer certificate: UnknownIssuer"), "{why}");
    let mut plain = Switch::connect(&daemon);
    plain.send(1, Body::BarrierRequest);
    // An alert is no message of OpenFlow.
    assert!(matches!(plain.stream.read(&mut [0; 100]), Ok(1..)));
    let why = daemon.logged("connection lost")["why"].to_string();
    assert!(why.contains("TLS: received corrupt message"), "{why}");
}

#[test]
fn files_that_were_renewed_are_read_at_sighup() {
    let folder = Folder::new("renewed");
    let mut daemon = controller(&folder);
    let theirs = Connector::new(folder.credentials("theirs", "ours"), "127.0.0.1").unwrap();
    assert!(first(&mut connect(&daemon, &theirs)).is_err());
    fs::copy(folder.path("theirs-ca"), folder.path("believed")).unwrap();
    daemon.nudge(Signal::SIGHUP);
    daemon.logged("configuration applied");
    assert!(matches!(first(&mut connect(&daemon, &theirs)), Ok(Body::Hello(_))));
}

#[test]
fn what_comes_with_the_end_of_the_handshake_is_heard() {
    // A write that reads would take the switch's greeting from the socket, and nothing would say so.
    let folder = Folder::new("finished");
    let daemon = controller(&folder);
    let ours = Connector::new(folder.credentials("ours", "ours"), "127.0.0.1").unwrap();
    for _ in 0..20 {
        let mut stream = connect(&daemon, &ours);
        let hello = bytes_of(1, Body::Hello(Hello { version: VERSION, bitmaps: vec![1 << VERSION] }));
        let deadline = Instant::now() + PATIENCE;
        let mut incoming = Vec::new();
        let mut is_said = false;
        // Its own Hello, and then what it asks once it has heard the switch's.
        while Message::framed_len(&incoming).unwrap().is_none_or(|len| incoming.len() == len) {
            is_said = is_said || stream.write(&hello).is_ok();
            let mut chunk = [0; 1000];
            match stream.read(&mut chunk) {
                Ok(read) => incoming.extend_from_slice(&chunk[..read]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            assert!(Instant::now() < deadline, "{incoming:?}");
        }
    }
}

#[test]
fn a_listener_that_had_tls_keeps_it() {
    let folder = Folder::new("kept");
    let mut daemon = controller(&folder);
    let file = daemon.folder.join("handfastd.toml");
    let text = fs::read_to_string(&file).unwrap();
    let (head, rest) = text.split_once("[tls]").unwrap();
    let (_, tail) = rest.split_once("[access_points.ap1]").unwrap();
    fs::write(&file, format!("{head}[access_points.ap1]{tail}")).unwrap();
    daemon.nudge(Signal::SIGHUP);
    daemon.logged("whether there is TLS stays as it is until the daemon is started again");
    daemon.logged("configuration applied");
    let ours = Connector::new(folder.credentials("ours", "ours"), "127.0.0.1").unwrap();
    assert!(matches!(first(&mut connect(&daemon, &ours)), Ok(Body::Hello(_))));
    // And so it does with files that cannot be read, and applies the rest.
    fs::remove_file(folder.path("believed")).unwrap();
    fs::write(&file, text).unwrap();
    daemon.nudge(Signal::SIGHUP);
    daemon.logged("certificates not read: the old ones stay");
    daemon.logged("configuration applied");
    assert!(matches!(first(&mut connect(&daemon, &ours)), Ok(Body::Hello(_))));
}
