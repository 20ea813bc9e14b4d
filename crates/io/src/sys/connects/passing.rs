//! Calls of connect(2) that one process takes and another one answers, which may be gone at any time: who takes them remembers those
//! that nobody has answered, and passes them on to the next one.
//!
//! A notice that was taken is given to nobody else by the kernel (`seccomp_unotify(2)`), and its program waits as long as anybody has the
//! listener. Who takes it has to be the program's parent: it looks at its memory, and fetches its socket, which Yama allows to those
//! (ptrace(2)).

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg,
    sendmsg, socketpair,
};

use super::super::inherited;
use super::{Attempt, Call, Connects, Unseen};

/// A message: what it is, what is known of its socket, the call's number, an error of errno(3), an address and a port.
const LEN: usize = 1 + 1 + 8 + 4 + 16 + 2;
const TCP: u8 = 1;
const UNSEEN: u8 = 2;
const UDP: u8 = 3;
/// Of its socket: it is one of IPv6, and one before may have led it somewhere.
const SIX: u8 = 1;
const LEFT: u8 = 2;

/// A call that nobody has answered.
#[derive(Debug)]
struct Waiting {
    call: Call,
    is_passed: bool,
}

/// Takes calls, and passes them on.
#[derive(Debug)]
pub struct KeptConnects {
    connects: Connects,
    /// To who answers; [`None`]: nobody does yet.
    channel: Option<UnixDatagram>,
    waiting: Vec<Waiting>,
    /// The program and all its children are gone.
    is_over: bool,
}

impl KeptConnects {
    /// Calls that wait at once; others wait in the kernel.
    pub const MOST: usize = 256;

    /// Of a program that is started later, or was.
    pub fn new(connects: Connects) -> Self {
        Self { connects, channel: None, waiting: Vec::new(), is_over: false }
    }

    /// What the one who answers from now on has to have: the listener, and the channel. The one before is gone.
    ///
    /// # Errors
    /// What socketpair(2) says.
    pub fn next_one(&mut self) -> io::Result<[OwnedFd; 2]> {
        // Whoever answers sees that this process has gone: a pair of datagrams has no end.
        let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        let (here, there) = (UnixDatagram::from(pair.0), pair.1);
        here.set_nonblocking(true)?;
        self.channel = Some(here);
        for waiting in &mut self.waiting {
            if let Call::Tcp(attempt) | Call::Udp(attempt) = &mut waiting.call {
                attempt.is_left |= waiting.is_passed;
            }
            waiting.is_passed = false;
        }
        Ok([self.connects.listener().try_clone_to_owned()?, there])
    }

    /// What is readable once there is something to do.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        (!self.is_over && self.waiting.len() < Self::MOST).then(|| self.connects.as_fd())
    }

    /// Whether a call waits for its answer.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes what there is, and passes on what it can. To be called from time to time, too: an answer makes nothing readable.
    pub fn turn(&mut self) {
        let Self { connects, channel, waiting, is_over } = self;
        waiting.retain(|waiting| connects.is_valid(number(&waiting.call)).is_ok());
        while !*is_over && waiting.len() < Self::MOST {
            match connects.next() {
                Ok(Some(call)) => waiting.push(Waiting { call, is_passed: false }),
                Ok(None) => break,
                Err(_) => *is_over = true,
            }
        }
        let Some(channel) = channel else { return };
        for waiting in waiting.iter_mut().filter(|waiting| !waiting.is_passed) {
            match send(channel, &waiting.call) {
                Ok(()) => waiting.is_passed = true,
                Err(_) => return,
            }
        }
    }
}

fn number(call: &Call) -> u64 {
    match call {
        Call::Tcp(attempt) | Call::Udp(attempt) => attempt.id,
        Call::Unseen(unseen) => unseen.id,
    }
}

fn send(channel: &UnixDatagram, call: &Call) -> io::Result<()> {
    let nowhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let (kind, flags, error, remote, socket) = match call {
        Call::Tcp(attempt) | Call::Udp(attempt) => {
            let kind = if matches!(call, Call::Tcp(_)) { TCP } else { UDP };
            let flags = if attempt.is_six { SIX } else { 0 } | if attempt.is_left { LEFT } else { 0 };
            (kind, flags, 0, attempt.remote, Some(attempt.socket.as_raw_fd()))
        }
        Call::Unseen(unseen) => (UNSEEN, 0, unseen.error.raw_os_error().unwrap_or(0), nowhere, None),
    };
    let address = match remote.ip() {
        IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
        IpAddr::V6(six) => six.octets(),
    };
    let mut octets = vec![kind, flags];
    octets.extend(number(call).to_ne_bytes());
    octets.extend(error.to_ne_bytes());
    octets.extend(address);
    octets.extend(remote.port().to_ne_bytes());
    let numbers: Vec<_> = socket.into_iter().collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    let rights = &rights[..numbers.len()];
    sendmsg::<UnixAddr>(channel.as_raw_fd(), &[IoSlice::new(&octets)], rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// The next call that was passed on, if there is one.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`]: who takes the calls is gone. Otherwise what recvmsg(2) says.
pub(super) fn receive(channel: &UnixDatagram) -> io::Result<Option<Call>> {
    let (mut octets, mut space) = ([0; LEN], nix::cmsg_space!([i32; 1]));
    let mut parts = [IoSliceMut::new(&mut octets)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let received = match recvmsg::<UnixAddr>(channel.as_raw_fd(), &mut parts, Some(&mut space), flags) {
        Ok(received) => received,
        Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let len = received.bytes;
    if len == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut sockets = Vec::new();
    // Without room for a socket the kernel gives the rest of the message (`MSG_CTRUNC`).
    for message in received.cmsgs().into_iter().flatten() {
        if let ControlMessageOwned::ScmRights(numbers) = message {
            sockets.extend(inherited::received(&numbers));
        }
    }
    let call = parsed(octets.get(..len).unwrap_or_default(), sockets.pop());
    call.map(Some).ok_or_else(|| ErrorKind::InvalidData.into())
}

fn parsed(octets: &[u8], socket: Option<OwnedFd>) -> Option<Call> {
    let (&[kind, flags], rest) = octets.split_first_chunk()?;
    let (id, rest) = rest.split_first_chunk()?;
    let (error, rest) = rest.split_first_chunk()?;
    let (address, rest) = rest.split_first_chunk::<16>()?;
    let port = u16::from_ne_bytes(rest.try_into().ok()?);
    let id = u64::from_ne_bytes(*id);
    match kind {
        TCP | UDP => {
            let Some(socket) = socket else {
                return Some(Call::Unseen(Unseen { id, error: io::Error::from_raw_os_error(libc::EMFILE) }));
            };
            let remote = (Ipv6Addr::from(*address).to_canonical(), port).into();
            let (is_six, is_left) = (flags & SIX != 0, flags & LEFT != 0);
            let call = if kind == TCP { Call::Tcp } else { Call::Udp };
            Some(call(Attempt { id, remote, socket, is_six, is_left }))
        }
        UNSEEN => {
            let error = io::Error::from_raw_os_error(i32::from_ne_bytes(*error));
            Some(Call::Unseen(Unseen { id, error }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn next_of(kept: &mut KeptConnects, answers: &Connects) -> Attempt {
        for _ in 0..2_000 {
            kept.turn();
            match answers.next().unwrap() {
                Some(Call::Tcp(attempt) | Call::Udp(attempt)) => return attempt,
                Some(Call::Unseen(unseen)) => panic!("{unseen:?}"),
                None => sleep(Duration::from_millis(1)),
            }
        }
        panic!("nothing comes")
    }

    fn answering(kept: &mut KeptConnects) -> Connects {
        let [listener, channel] = kept.next_one().unwrap();
        Connects::passed_on(listener, channel.into()).unwrap()
    }

    #[test]
    fn a_call_that_was_taken_by_one_who_is_gone_is_answered_by_the_next_one() {
        let (starter, connects) = Connects::prepare().unwrap();
        let mut kept = KeptConnects::new(connects);
        let first = answering(&mut kept);
        let mut command = Command::new("bash");
        command.args(["-c", "exec 3<>/dev/tcp/192.0.2.1/9; read -u 3 line; echo $line"]);
        let mut child = starter
            .start({
                command.stdout(Stdio::piped());
                command
            })
            .unwrap();
        let attempt = next_of(&mut kept, &first);
        assert_eq!(attempt.remote, "192.0.2.1:9".parse().unwrap());
        // It has led it somewhere, and not come to answer.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let led = first.lead(&attempt, to).unwrap();
        drop((attempt, first));
        let second = answering(&mut kept);
        let attempt = next_of(&mut kept, &second);
        assert_eq!(attempt.led(), Some([led.local, to]));
        let led = second.lead(&attempt, to).unwrap();
        listener.accept().unwrap().0.write_all(b"hello\n").unwrap();
        second.answer(&attempt, led);
        drop(attempt);
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        assert_eq!(said, "hello\n");
        kept.turn();
        assert!(kept.waiting.is_empty() && kept.is_over && kept.watch().is_none());
    }

    #[test]
    fn who_answers_sees_that_nobody_takes_calls_any_more() {
        let (_starter, connects) = Connects::prepare().unwrap();
        let mut kept = KeptConnects::new(connects);
        let answers = answering(&mut kept);
        assert!(answers.next().unwrap().is_none());
        drop(kept);
        assert_eq!(answers.next().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_call_without_its_socket_is_one_that_cannot_be_looked_at() {
        let octets: Vec<u8> = [TCP, 0].into_iter().chain([7; LEN - 2]).collect();
        assert!(
            matches!(parsed(&octets, None), Some(Call::Unseen(unseen)) if unseen.id == u64::from_ne_bytes([7; 8]))
        );
    }

    #[test]
    fn a_socket_that_was_led_to_one_who_is_gone_is_led_again() {
        let (starter, connects) = Connects::prepare().unwrap();
        let mut kept = KeptConnects::new(connects);
        let first = answering(&mut kept);
        let mut command = Command::new("bash");
        command
            .args(["-c", "exec 3<>/dev/tcp/192.0.2.1/9; read -u 3 line; echo $line"])
            .stdout(Stdio::piped());
        let child = starter.start(command).unwrap();
        let attempt = next_of(&mut kept, &first);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        first.lead(&attempt, to).unwrap();
        crate::disconnect(&listener.accept().unwrap().0).unwrap();
        drop((attempt, first));
        let second = answering(&mut kept);
        let attempt = next_of(&mut kept, &second);
        assert_eq!(attempt.led(), None);
        let led = second.lead(&attempt, to).unwrap();
        listener.accept().unwrap().0.write_all(b"hello\n").unwrap();
        second.answer(&attempt, led);
        drop(attempt);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"hello\n");
    }

    #[test]
    fn a_program_that_is_not_started_leaves_nobody_waiting() {
        let (starter, connects) = Connects::prepare().unwrap();
        drop(starter);
        let mut kept = KeptConnects::new(connects);
        for _ in 0..2_000 {
            kept.turn();
            if kept.is_over {
                return;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("it waits for a program that nobody starts");
    }
}
