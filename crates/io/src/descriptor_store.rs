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

use crate::sys::inherited;
use crate::{disconnect, hand_over};

const SOCKET: &str = "NOTIFY_SOCKET";
const COUNT: &str = "LISTEN_FDS";
const NAMES: &str = "LISTEN_FDNAMES";
/// Whom they are for. A process that starts another one cannot know its number before: it gives its own.
const FOR: &str = "LISTEN_PID";
const BY: &str = "HANDFAST_KEEPER";
/// What a process that starts another one gives it first: by which it is told what to keep. No path leads there.
const STORE: &str = "store";
/// Descriptors of one message, at most (`SCM_MAX_FD` of `net/scm.h`).
const MOST_SENT: usize = 253;

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
        if is(BY, getppid()) {
            let mut kept = given()?;
            return Ok(kept.remove(STORE).map(|store| Self { socket: store.into(), kept }));
        }
        let Some(address) = std::env::var_os(SOCKET) else { return Ok(None) };
        let socket = UnixDatagram::unbound()?;
        match address.as_bytes() {
            [b'@', name @ ..] => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
            _ => socket.connect(&address)?,
        }
        let kept = if is(FOR, getpid()) { given()? } else { BTreeMap::new() };
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

/// Variables are inherited by others too: whether this one is of that process.
fn is(name: &str, pid: Pid) -> bool {
    std::env::var(name).is_ok_and(|text| text == pid.to_string())
}

/// What this process was started with, by name.
fn given() -> io::Result<BTreeMap<String, OwnedFd>> {
    let count = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    let names = std::env::var(NAMES).unwrap_or_default();
    let names = names.split(':').map(str::to_owned).chain(std::iter::repeat(String::new()));
    Ok(names.zip(inherited::take(count)?).collect())
}

/// What a process keeps for another one that it starts again and again.
#[derive(Debug)]
pub struct KeptFor {
    socket: UnixDatagram,
    /// What the other process gets of the pair.
    there: UnixDatagram,
    kept: BTreeMap<String, OwnedFd>,
    most: usize,
}

impl KeptFor {
    /// Nothing yet, and so many descriptors at most.
    ///
    /// # Errors
    /// What socketpair(2) says.
    pub fn new(most: usize) -> io::Result<Self> {
        let (socket, there) = UnixDatagram::pair()?;
        socket.set_nonblocking(true)?;
        setsockopt(&socket, sockopt::PassCred, &true)?;
        Ok(Self { socket, there, kept: BTreeMap::new(), most })
    }

    /// Keeps this too.
    pub fn insert(&mut self, name: &str, descriptor: OwnedFd) {
        self.kept.insert(name.to_owned(), descriptor);
    }

    /// Lets go of all: connections end with a reset, and not as if they were over.
    pub fn reset_all(&mut self) {
        for descriptor in std::mem::take(&mut self.kept).into_values() {
            // What is no connection has nothing to be reset.
            let _ = disconnect(&descriptor);
        }
    }

    /// Starts the program with what is kept. Nothing of this process's own store is passed on.
    ///
    /// # Errors
    /// What fork(2) and execve(2) say.
    pub fn start(&self, command: &mut Command) -> io::Result<Child> {
        let kept = self.kept.iter().map(|(name, descriptor)| (name.as_str(), descriptor.as_fd()));
        let (names, descriptors): (Vec<_>, Vec<_>) =
            std::iter::once((STORE, self.there.as_fd())).chain(kept).unzip();
        command.env(BY, getpid().to_string()).env_remove(FOR).env_remove(SOCKET);
        command.env(COUNT, names.len().to_string()).env(NAMES, names.join(":"));
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
            // Room for all that may come: where some of it is missing this process may open no more files, and nothing has come.
            let mut space = nix::cmsg_space!([i32; MOST_SENT], nix::libc::ucred);
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            let received =
                match recvmsg::<UnixAddr>(self.socket.as_raw_fd(), &mut parts, Some(&mut space), flags) {
                    Ok(received) => received,
                    Err(nix::Error::EAGAIN) => return Ok(is_ready),
                    Err(nix::Error::EINTR) => continue,
                    Err(error) => return Err(error.into()),
                };
            let Ok(messages) = received.cmsgs() else { continue };
            let mut sent = Vec::new();
            let mut is_from = false;
            for message in messages {
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
    !name.is_empty() && name != STORE && name.len() <= MOST_NAME && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// A process whose store is this one's too.
    fn pair(most: usize) -> (KeptFor, DescriptorStore) {
        let kept = KeptFor::new(most).unwrap();
        let socket = kept.there.try_clone().unwrap();
        (kept, DescriptorStore { socket, kept: BTreeMap::new() })
    }

    #[test]
    fn what_is_to_be_kept_is_kept_until_it_is_not_needed() {
        let (mut kept, store) = pair(2);
        let own = std::process::id();
        store.keep("one", store.socket.as_fd()).unwrap();
        assert!(!kept.hear(own).unwrap());
        for name in ["two", "three", "with:colon", STORE] {
            store.keep(name, store.socket.as_fd()).unwrap();
        }
        store.ready().unwrap();
        assert!(kept.hear(own).unwrap());
        assert_eq!(kept.kept.keys().collect::<Vec<_>>(), ["one", "two"]);
        store.remove("one").unwrap();
        kept.hear(own).unwrap();
        assert_eq!(kept.kept.keys().collect::<Vec<_>>(), ["two"]);
        store.remove("two").unwrap();
        kept.hear(own + 1).unwrap();
        assert_eq!(kept.kept.len(), 1, "of another process nothing is heard");
    }

    #[test]
    fn more_descriptors_than_are_wanted_end_nothing() {
        let (mut kept, store) = pair(2);
        let numbers = [store.socket.as_raw_fd(); MOST_SENT];
        let rights = [ControlMessage::ScmRights(&numbers)];
        let octets = [IoSlice::new(b"FDSTORE=1\nFDNAME=many")];
        sendmsg::<UnixAddr>(store.socket.as_raw_fd(), &octets, &rights, MsgFlags::empty(), None).unwrap();
        store.ready().unwrap();
        assert!(kept.hear(std::process::id()).unwrap(), "what comes after it is heard");
        assert_eq!(kept.kept.keys().collect::<Vec<_>>(), ["many"]);
    }
}
