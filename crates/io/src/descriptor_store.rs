//! Descriptors that outlive a process: systemd keeps them, or another process that speaks its protocol (`sd_notify(3)`, `FDSTORE=1`,
//! `sd_listen_fds(3)`).
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::{Child, Command};

use std::os::linux::net::SocketAddrExt;

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg, setsockopt, sockopt,
};
use nix::unistd::{Pid, getpid, getppid};

use crate::hand_over;
use crate::sys::inherited;

const SOCKET: &str = "NOTIFY_SOCKET";
const COUNT: &str = "LISTEN_FDS";
const NAMES: &str = "LISTEN_FDNAMES";
/// Whom they are for. A process that starts another one cannot know its number before: it gives its own.
const FOR: &str = "LISTEN_PID";
const BY: &str = "HANDFAST_KEEPER";

/// The longest name (`FDNAME=` of `sd_notify(3)`).
const MOST_NAME: usize = 255;

/// What this process has stored and stores, elsewhere.
#[derive(Debug)]
pub struct DescriptorStore {
    socket: UnixDatagram,
    kept: BTreeMap<String, OwnedFd>,
}

impl DescriptorStore {
    /// [`None`]: nobody keeps anything for this process. Of use once, before the process has threads and opens files.
    ///
    /// # Errors
    /// What is said of a store makes no sense.
    pub fn of_process() -> io::Result<Option<Self>> {
        let Some(address) = std::env::var_os(SOCKET) else { return Ok(None) };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(false)?;
        match address.as_bytes() {
            [b'@', name @ ..] => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
            _ => socket.connect(&address)?,
        }
        let mut kept = BTreeMap::new();
        if is_for_this() {
            let count = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
            let names = std::env::var(NAMES).unwrap_or_default();
            let names = names.split(':').map(str::to_owned).chain(std::iter::repeat(String::new()));
            kept = names.zip(inherited::take(count)?).collect();
        }
        Ok(Some(Self { socket, kept }))
    }

    /// One that was kept, by its name: from now on this process has it too.
    pub fn take(&mut self, name: &str) -> Option<OwnedFd> {
        self.kept.remove(name)
    }

    /// The names of those that nobody has taken.
    pub fn names(&self) -> Vec<String> {
        self.kept.keys().cloned().collect()
    }

    /// Has one kept. It is not watched: what its other end does changes nothing of that.
    ///
    /// # Errors
    /// What sendmsg(2) says.
    pub fn keep(&self, name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.say(&format!("FDSTORE=1\nFDPOLL=0\nFDNAME={name}"), Some(descriptor))
    }

    /// Has one kept no more.
    ///
    /// # Errors
    /// What sendmsg(2) says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.say(&format!("FDSTOREREMOVE=1\nFDNAME={name}"), None)
    }

    /// This process has begun.
    ///
    /// # Errors
    /// What sendmsg(2) says.
    pub fn ready(&self) -> io::Result<()> {
        self.say("READY=1", None)
    }

    fn say(&self, text: &str, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let numbers = descriptor.map(|descriptor| [descriptor.as_raw_fd()]);
        let rights: Vec<_> = numbers.iter().map(|numbers| ControlMessage::ScmRights(numbers)).collect();
        let octets = [IoSlice::new(text.as_bytes())];
        loop {
            match sendmsg::<UnixAddr>(self.socket.as_raw_fd(), &octets, &rights, MsgFlags::MSG_NOSIGNAL, None)
            {
                Err(nix::Error::EINTR) => {}
                done => return done.map(drop).map_err(io::Error::from),
            }
        }
    }
}

/// Variables are inherited by others too.
fn is_for_this() -> bool {
    let is = |name: &str, pid: Pid| std::env::var(name).is_ok_and(|text| text == pid.to_string());
    is(FOR, getpid()) || is(BY, getppid())
}

/// What a process keeps for another one that it starts again and again.
#[derive(Debug)]
pub struct KeptFor {
    socket: UnixDatagram,
    name: String,
    kept: BTreeMap<String, OwnedFd>,
    most: usize,
}

impl KeptFor {
    /// Nothing yet, and so many descriptors at most. `name`: of the socket, which nobody else has; only this user may use it.
    ///
    /// # Errors
    /// What bind(2) says.
    pub fn listen(name: String, most: usize) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes())?)?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::PassCred, &true)?;
        Ok(Self { socket, name, kept: BTreeMap::new(), most })
    }

    /// Keeps this too.
    pub fn insert(&mut self, name: &str, descriptor: OwnedFd) {
        self.kept.insert(name.to_owned(), descriptor);
    }

    /// Starts the program with what is kept. Nothing of this process's own store is passed on.
    ///
    /// # Errors
    /// What fork(2) and execve(2) say.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        let names: Vec<&str> = self.kept.keys().map(String::as_str).collect();
        command.env(SOCKET, format!("@{}", self.name)).env(BY, getpid().to_string()).env_remove(FOR);
        command.env(COUNT, names.len().to_string()).env(NAMES, names.join(":"));
        let descriptors: Vec<_> = self.kept.values().map(AsFd::as_fd).collect();
        hand_over(command, &descriptors)
    }

    /// Takes what the program has said: whether it has said that it has begun. `from`: its number; others are not heard.
    ///
    /// # Errors
    /// What recvmsg(2) says.
    pub fn hear(&mut self, from: u32) -> io::Result<bool> {
        let mut is_ready = false;
        loop {
            let mut octets = [0; 1_024];
            let mut parts = [IoSliceMut::new(&mut octets)];
            let mut space = nix::cmsg_space!([i32; 4], nix::libc::ucred);
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let received =
                match recvmsg::<UnixAddr>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), flags) {
                    Ok(received) => received,
                    Err(nix::Error::EAGAIN) => return Ok(is_ready),
                    Err(nix::Error::EINTR) => continue,
                    Err(error) => return Err(error.into()),
                };
            let mut sent = Vec::new();
            let mut is_from = false;
            for message in received.cmsgs().map_err(io::Error::from)? {
                match message {
                    ControlMessageOwned::ScmRights(numbers) => sent.extend(numbers),
                    ControlMessageOwned::ScmCredentials(who) => is_from = who.pid() == from as i32,
                    _ => {}
                }
            }
            let len = received.bytes;
            let sent = inherited::received(&sent);
            let text = std::str::from_utf8(&octets[..len]).ok().filter(|_| is_from);
            is_ready |= text.is_some_and(|text| self.obey(text, sent));
        }
    }

    /// Does what a message says; whether it says that the program has begun.
    fn obey(&mut self, text: &str, sent: Vec<OwnedFd>) -> bool {
        let says = |line: &str| text.lines().any(|said| said == line);
        let name = text.lines().find_map(|line| line.strip_prefix("FDNAME=")).filter(|name| is_name(name));
        if let Some(name) = name {
            if says("FDSTOREREMOVE=1") {
                self.kept.remove(name);
            } else if says("FDSTORE=1") && (self.kept.len() < self.most || self.kept.contains_key(name)) {
                self.kept.extend(sent.into_iter().next().map(|descriptor| (name.to_owned(), descriptor)));
            }
        }
        says("READY=1")
    }
}

impl AsFd for KeptFor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    !name.is_empty() && name.len() <= MOST_NAME && name.bytes().all(is_plain)
}
