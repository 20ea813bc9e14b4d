//! Standard input and output as a program's connection: threads copy, since a terminal, a pipe and a file wait differently.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

/// The thread that writes to standard output.
pub(super) struct Pipes(JoinHandle<()>);

impl Pipes {
    /// Copies between this process's pipes and `stream`.
    pub(super) fn start(stream: UnixStream) -> io::Result<Self> {
        let (mut to, mut from) = (stream.try_clone()?, stream);
        Builder::new().name("stdin".to_owned()).spawn(move || {
            copy(&mut io::stdin().lock(), &mut to);
            // Nobody reads any more where this fails.
            let _ = to.shutdown(Shutdown::Write);
        })?;
        let out = Builder::new().name("stdout".to_owned()).spawn(move || {
            copy(&mut from, &mut io::stdout().lock());
            let _ = from.shutdown(Shutdown::Both);
        })?;
        Ok(Self(out))
    }

    /// Whether all that came is written.
    pub(super) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits for that.
    pub(super) fn wait(self) {
        // It does not panic.
        let _ = self.0.join();
    }
}

/// Until either end is closed. What has come goes on at once: a shell waits for each letter.
fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => {
                if to.write_all(&chunk[..read]).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
