use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::Duration;

use handfast_assist::iosl::secure::Keys;

use super::*;

/// Octets of the preamble and of the length after it.
const BEGINNING: usize = 10;

fn carrier() -> Carrier {
    let allowed = Allowed { keys: BTreeSet::new(), pins: 0 };
    let identity = Identity { keys: Keys::new([1; 32]), allowed, seed: [2; 32] };
    Carrier::new(identity, Config::default(), Below::Tcp, Outlives::No("of a test"), [3; 32])
}

/// The peer answers to what went with the SYN, while this end has not looked at its connection yet: the kernel says once that there
/// is something to read.
#[test]
fn an_answer_that_is_there_before_the_connection_was_looked_at_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut io, mut carrier) = (EventLoop::new().unwrap(), carrier());
    let target = Target::new("server.example", 22).unwrap();
    carrier.open(target, vec![listener.local_addr().unwrap()], None).unwrap();
    carrier.drive(&mut io);
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    if server.read_exact(&mut [0; BEGINNING]).is_err() {
        return eprintln!("skipped: this machine sends nothing with a SYN (net.ipv4.tcp_fastopen)");
    }
    // No message of a handshake is as long.
    server.write_all(&[0xff; 4]).unwrap();
    sleep(Duration::from_millis(100));
    io.wait(None).unwrap();
    for id in io.take_readable() {
        carrier.on_readable(&mut io, id);
    }
    assert_eq!(carrier.end.counters().broken, 1);
}
