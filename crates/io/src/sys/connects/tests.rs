use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use super::*;

/// The program `text` of bash, and what it wants first.
fn first_of(text: &str) -> (Child, Connects, Attempt) {
    let mut command = Command::new("bash");
    let (child, connects) = Connects::of(command.args(["-c", text]).stdout(Stdio::piped())).unwrap();
    loop {
        match connects.next().unwrap() {
            Some(Call::Tcp(attempt)) => return (child, connects, attempt),
            Some(call) => panic!("{call:?}"),
            None => {}
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn said(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

#[test]
fn a_program_is_led_elsewhere_without_knowing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = "(exec 3<>/dev/tcp/192.0.2.1/9; read -u 3 line; echo $line)";
    let (child, connects, attempt) = first_of(text);
    assert_eq!(attempt.remote, "192.0.2.1:9".parse().unwrap());
    let to = listener.local_addr().unwrap();
    assert!(attempt.led().is_none());
    let led = connects.lead(&attempt, to).unwrap();
    assert_eq!(attempt.led(), Some([led.local, to]));
    let (mut stream, from) = listener.accept().unwrap();
    assert_eq!(from, led.local);
    // Who has not come to answer is followed by another one, who leads it there too.
    let again = connects.lead(&attempt, to).unwrap();
    assert_eq!(again.local, led.local);
    assert!(connects.lead(&attempt, ([127, 0, 0, 1], 1).into()).is_err(), "it is connected elsewhere");
    connects.answer(&attempt, again);
    stream.write_all(b"hello\n").unwrap();
    assert_eq!(said(child), "hello\n");
    let end = connects.next().unwrap_err();
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof, "nobody is left");
}

#[test]
fn what_cannot_be_looked_at_is_told_apart_from_what_is_neither_tcp_nor_udp() {
    // A socket of UDP is seen, and Unix sockets go on; then an address that is none, at a socket of TCP; then a descriptor that is none.
    let text = "import ctypes, socket\n\
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.connect(('127.0.0.1', 9))\n\
        tcp = socket.socket(); libc = ctypes.CDLL(None, use_errno=True)\n\
        print(libc.connect(tcp.fileno(), 8, 16), ctypes.get_errno())\n\
        there = bytes([2, 0, 0, 9, 192, 0, 2, 1]) + bytes(8)\n\
        print(libc.connect(999, there, 16), ctypes.get_errno())\n";
    let mut command = Command::new("python3");
    let (child, connects) = Connects::of(command.args(["-c", text]).stdout(Stdio::piped())).unwrap();
    let mut refusals = Vec::new();
    let end = loop {
        match connects.next() {
            Ok(Some(Call::Unseen(unseen))) => {
                refusals.push(unseen.refusal());
                connects.answer_unseen(&unseen, false);
            }
            Ok(Some(Call::Udp(attempt))) => {
                assert_eq!(attempt.remote, "127.0.0.1:9".parse().unwrap());
                connects.let_go(&attempt);
            }
            Ok(Some(Call::Tcp(attempt))) => panic!("{attempt:?}"),
            Ok(None) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(error) => break error.kind(),
        }
    };
    assert_eq!((refusals, end), (vec![libc::EFAULT, libc::EBADF], io::ErrorKind::UnexpectedEof));
    assert_eq!(said(child), format!("-1 {}\n-1 {}\n", libc::EFAULT, libc::EBADF));
    let of = |error| Unseen { id: 0, error: io::Error::from_raw_os_error(error) }.refusal();
    assert_eq!([of(libc::EPERM), of(libc::EMFILE), of(libc::ESRCH)], [libc::EPERM; 3]);
}

#[test]
fn a_socket_of_mptcp_is_one_of_tcp() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = "import socket\n\
        try: one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\n\
        except OSError: one = socket.socket()\n\
        one.connect(('192.0.2.1', 9)); print(one.recv(9).decode())";
    let mut command = Command::new("python3");
    let (child, connects) = Connects::of(command.args(["-c", text]).stdout(Stdio::piped())).unwrap();
    let attempt = loop {
        if let Some(Call::Tcp(attempt)) = connects.next().unwrap() {
            break attempt;
        }
    };
    let led = connects.lead(&attempt, listener.local_addr().unwrap()).unwrap();
    connects.answer(&attempt, led);
    listener.accept().unwrap().0.write_all(b"hello").unwrap();
    assert_eq!(said(child), "hello\n");
}

#[test]
fn a_program_gets_an_error_or_goes_on() {
    let text = "exec 3<>/dev/tcp/192.0.2.1/9 || echo refused";
    let (child, connects, attempt) = first_of(text);
    connects.refuse(&attempt, libc::ECONNREFUSED);
    assert_eq!(said(child), "refused\n");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo there");
    let (child, connects, attempt) = first_of(&text);
    connects.let_go(&attempt);
    listener.accept().unwrap();
    assert_eq!(said(child), "there\n");
}

#[test]
fn a_socket_of_udp_is_led_elsewhere_and_may_be_led_again() {
    let text = "import socket\nudp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
        udp.connect(('192.0.2.1', 9)); udp.send(b'hello'); udp.connect(('192.0.2.2', 9)); print(udp.recv(9))\n";
    let mut command = Command::new("python3");
    let (child, connects) = Connects::of(command.args(["-c", text]).stdout(Stdio::piped())).unwrap();
    let next = || loop {
        match connects.next().unwrap() {
            Some(Call::Udp(attempt)) => return attempt,
            Some(call) => panic!("{call:?}"),
            None => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    };
    let ends = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    for (n, end) in ends.iter().enumerate() {
        let attempt = next();
        assert_eq!(attempt.remote, ([192, 0, 2, 1 + n as u8], 9).into());
        assert_eq!(attempt.network().unwrap(), crate::network_cookie().unwrap());
        let led = connects.lead(&attempt, end.local_addr().unwrap()).unwrap();
        end.connect(led.local).unwrap();
        connects.answer(&attempt, led);
        if n == 0 {
            let mut datagram = [0; 9];
            assert_eq!((end.recv(&mut datagram).unwrap(), &datagram[..5]), (5, &b"hello"[..]));
        }
    }
    ends[1].send(b"there").unwrap();
    assert_eq!(said(child), "b'there'\n");
}
