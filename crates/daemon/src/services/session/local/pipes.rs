//! Standard input and output as a program's connection: threads copy, since a terminal, a pipe and a file wait differently.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

use handfast_assist::iosl::frame::Target;
use nix::unistd::dup2_stdout;

use super::front;

/// The longest answer of an end.
const LONGEST_ANSWER: usize = 1_024;

/// A connection of which each direction ends by itself.
pub(super) trait Duplex: Read + Write + Send + Sized + 'static {
    fn double(&self) -> io::Result<Self>;
    fn end(&self, which: Shutdown) -> io::Result<()>;
}

impl Duplex for UnixStream {
    fn double(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self, which: Shutdown) -> io::Result<()> {
        self.shutdown(which)
    }
}

impl Duplex for TcpStream {
    fn double(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self, which: Shutdown) -> io::Result<()> {
        self.shutdown(which)
    }
}

/// Which side of a copy has broken.
enum Broken {
    From(io::Error),
    To(io::Error),
}

/// The threads, of which each copies one direction.
pub(super) struct Pipes {
    /// Whether the connection was reset, as far as this direction has learnt it: the kernel says so once.
    input: JoinHandle<Option<io::Error>>,
    /// Whether all that came was taken, or what has broken.
    output: JoinHandle<io::Result<bool>>,
}

impl Pipes {
    /// Connects them to a target by an end of this machine. [`None`]: it does not reach the target.
    ///
    /// # Errors
    /// Nobody has answered there.
    pub(super) fn by_end(end: &str, target: &Target) -> io::Result<Option<Self>> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "that is no end's address");
        let (password, at) = front::end_at(end).ok_or_else(wrong)?;
        let mut stream = TcpStream::connect(at)?;
        // It may fail on no connection of TCP.
        let _ = stream.set_nodelay(true);
        stream.write_all(front::request(target, password).as_bytes())?;
        let mut answer = Vec::new();
        // Byte by byte: what comes after it is the server's.
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < LONGEST_ANSWER {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(1) => answer.push(byte[0]),
                Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if !answer.starts_with(b"HTTP/1.1 200") {
            return Ok(None);
        }
        Self::start(stream).map(Some)
    }

    /// Copies between this process's pipes and `stream`. Where one direction has ended the other one goes on.
    pub(super) fn start(stream: impl Duplex) -> io::Result<Self> {
        let (mut to, mut from) = (stream.double()?, stream);
        let input = Builder::new().name("stdin".to_owned()).spawn(move || {
            // A server that takes no more says so by the other direction, if at all.
            let reset = match copy(&mut io::stdin().lock(), &mut to) {
                Err(Broken::To(error)) if error.kind() == io::ErrorKind::ConnectionReset => Some(error),
                Ok(()) | Err(_) => None,
            };
            // Nobody reads any more where this fails.
            let _ = to.end(Shutdown::Write);
            reset
        })?;
        let output = Builder::new().name("stdout".to_owned()).spawn(move || {
            let copied = copy(&mut from, &mut io::stdout().lock());
            if copied.is_err() {
                let _ = from.end(Shutdown::Both);
            }
            // Whoever reads it learns of the end, though input may still come.
            let nowhere = OpenOptions::new().write(true).open("/dev/null");
            let _ = nowhere.and_then(|nowhere| Ok(dup2_stdout(nowhere)?));
            match copied {
                Ok(()) => Ok(true),
                Err(Broken::To(_)) => Ok(false),
                Err(Broken::From(error)) => Err(error),
            }
        })?;
        Ok(Self { input, output })
    }

    /// Whether all that came is written.
    pub(super) fn is_finished(&self) -> bool {
        self.output.is_finished()
    }

    /// As [`Pipes::wait`]: whether all was well. It says what was not.
    pub(super) fn wait_and_say(self, target: &Target) -> bool {
        let done = self.wait();
        if let Err(error) = &done {
            let _ = writeln!(io::stderr(), "handfastd: error: {target}: {error}");
        }
        done.is_ok()
    }

    /// Waits for the end of both directions: whether the connection has broken. Where it has, or nobody takes what comes, input is
    /// waited for no longer.
    pub(super) fn wait(self) -> io::Result<()> {
        // They do not panic.
        if let Ok(taken) = self.output.join()
            && taken?
            && let Ok(Some(reset)) = self.input.join()
        {
            return Err(reset);
        }
        Ok(())
    }
}

/// Until either end is closed. What has come goes on at once: a shell waits for each letter.
fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<(), Broken> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                to.write_all(&chunk[..read]).and_then(|()| to.flush()).map_err(Broken::To)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Broken::From(error)),
        }
    }
}
