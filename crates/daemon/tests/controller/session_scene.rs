//! An end before a server that echoes, and networks between a client and it.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::{Daemon, folder};

const CONFIG: &str = r#"
[session]
listen = "127.0.0.1:0"
key_file = "FOLDER/server.key"
socket = "FOLDER/association"
clients = []
clients_file = "FOLDER/clients"
pin_first = 1
targets = [{address = "127.0.0.1", ports = [PORT], names = ["echo.example"], proxy_protocol = "v2"}]
"#;

/// A server that gives back what it gets, after a header of the PROXY protocol; the clients that it was told of.
pub(crate) fn echo() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&clients);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), Arc::clone(&count));
            thread::spawn(move || {
                let mut header = [0; 28];
                // A client that came straight sends no header: what it says is given back as a whole.
                let mut first = [0; 1];
                if stream.read_exact(&mut first).is_err() {
                    return;
                }
                if first == *b"\r" {
                    stream.read_exact(&mut header[1..]).unwrap();
                    assert_eq!((header[12], header[13], &header[16..20]), (0x21, 0x11, &[127, 0, 0, 1][..]));
                    count.fetch_add(1, Ordering::SeqCst);
                } else {
                    stream.write_all(&first).unwrap();
                }
                let mut back = stream.try_clone().unwrap();
                // The other side may be gone.
                let _ = std::io::copy(&mut stream, &mut back);
                let _ = back.shutdown(Shutdown::Write);
            });
        }
    });
    (port, clients)
}

/// A network between client and server: each connection is cut after so many octets from the client. How many there were.
pub(crate) fn cutting(to: SocketAddr, after: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let (address, connections, _) = listening(to, after);
    (address, connections)
}

/// The same, which keeps what clients have sent, of all connections one after the other.
pub(crate) fn listening(to: SocketAddr, after: usize) -> (SocketAddr, Arc<AtomicUsize>, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let (count, kept) = (Arc::clone(&connections), Arc::new(Mutex::new(Vec::new())));
    let all = Arc::clone(&kept);
    thread::spawn(move || {
        for client in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            let all = Arc::clone(&all);
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(to).unwrap());
            let (mut from, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || drop(std::io::copy(&mut from, &mut back)));
            thread::spawn(move || {
                let (mut chunk, mut passed) = ([0; 4096], 0);
                while passed < after {
                    match client.read(&mut chunk) {
                        Ok(read @ 1..) if server.write_all(&chunk[..read]).is_ok() => {
                            all.lock().unwrap().extend_from_slice(&chunk[..read]);
                            passed += read;
                        }
                        _ => break,
                    }
                }
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            });
        }
    });
    (address, connections, kept)
}

pub(crate) struct Scene {
    pub(crate) server: Daemon,
    pub(crate) port: u16,
    pub(crate) led: Arc<AtomicUsize>,
    pub(crate) home: PathBuf,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(|config| config)
    }

    /// Its configuration, the port and count of its echo, and the home of its clients.
    pub(crate) fn prepared(
        change: impl Fn(String) -> String,
    ) -> (PathBuf, (u16, Arc<AtomicUsize>), PathBuf, PathBuf) {
        let (folder, (port, led)) = (folder(), echo());
        let file = folder.join("handfastd.toml");
        let config = CONFIG.replace("FOLDER", folder.to_str().unwrap()).replace("PORT", &port.to_string());
        fs::write(&file, change(config)).unwrap();
        let home = folder.join("home");
        fs::create_dir(&home).unwrap();
        (folder, (port, led), file, home)
    }

    pub(crate) fn with(change: impl Fn(String) -> String) -> Self {
        let (folder, (port, led), file, home) = Self::prepared(change);
        Self { server: Daemon::start_service("session serve", folder, &file, &[]), port, led, home }
    }

    /// An end that leads to another port than that of its echo.
    pub(crate) fn to(port: &str) -> Self {
        Self::with(|config| {
            let (before, after) = config.split_once("ports = [").unwrap();
            format!("{before}ports = [{port}{}", &after[after.find(']').unwrap()..])
        })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command(&self.home, arguments)
    }

    /// What comes back of what is sent by a command.
    pub(crate) fn exchange(&self, arguments: &[&str], octets: &[u8]) -> Output {
        exchange(self.command(arguments).spawn().unwrap(), octets)
    }

    pub(crate) fn connect(&self, peer: SocketAddr, octets: &[u8]) -> Output {
        let (peer, port) = (peer.to_string(), self.port.to_string());
        self.exchange(&["connect", "--peer", &peer, "echo.example", &port], octets)
    }
}

pub(crate) fn exchange(mut child: Child, octets: &[u8]) -> Output {
    let (mut stdin, octets) = (child.stdin.take().unwrap(), octets.to_vec());
    let writer = thread::spawn(move || drop(stdin.write_all(&octets)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

pub(crate) fn octets(len: usize) -> Vec<u8> {
    (0..len as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A network that carries octets so much later, in each direction.
pub(crate) fn slow(to: SocketAddr, by: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(to).unwrap());
            for (mut from, mut to) in [(&client, &server), (&server, &client)]
                .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()))
            {
                thread::spawn(move || {
                    let mut chunk = vec![0; 64 << 10];
                    while let Ok(read @ 1..) = from.read(&mut chunk) {
                        thread::sleep(by);
                        if to.write_all(&chunk[..read]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

/// A network that may lead somewhere else: then the connections of before are cut.
pub(crate) struct Detour {
    pub(crate) address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Detour {
    pub(crate) fn new(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (to, open) = (Arc::new(Mutex::new(to)), Arc::new(Mutex::new(Vec::new())));
        let (where_to, all) = (Arc::clone(&to), Arc::clone(&open));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, at) = (client.unwrap(), *where_to.lock().unwrap());
                let server = TcpStream::connect(at).unwrap();
                let clones = || [client.try_clone().unwrap(), server.try_clone().unwrap()];
                all.lock().unwrap().extend(clones());
                let ([mut one, mut other], [mut to_one, mut to_other]) = (clones(), clones());
                let carry = |from: &mut TcpStream, to: &mut TcpStream| {
                    // Where it breaks it has ended too.
                    let _ = (std::io::copy(from, to), to.shutdown(Shutdown::Write));
                };
                thread::spawn(move || carry(&mut one, &mut to_other));
                thread::spawn(move || carry(&mut other, &mut to_one));
            }
        });
        Self { address, to, open }
    }

    pub(crate) fn lead(&self, to: SocketAddr) {
        *self.to.lock().unwrap() = to;
        for stream in self.open.lock().unwrap().drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// A server that says `partial` once something has come, and resets: what has come it never reads.
pub(crate) fn resetting() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
            stream.write_all(b"partial").unwrap();
            thread::sleep(Duration::from_millis(200));
        }
    });
    port
}

pub(crate) fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_handfastd"));
    command.arg("session").args(arguments).env_clear();
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
