//! One bounded read from a socket.

use std::io::{self, Read};

use handfast_io::ReadOutcome;

/// Reads once; `most`: how much may be kept.
pub(super) fn read(from: &mut impl Read, into: &mut Vec<u8>, most: usize) -> io::Result<ReadOutcome> {
    let mut chunk = [0; 4096];
    match from.read(&mut chunk) {
        Ok(0) => Ok(ReadOutcome::End),
        Ok(read) => {
            into.extend_from_slice(&chunk[..read]);
            let fits = into.len() <= most;
            if fits { Ok(ReadOutcome::Some) } else { Err(io::ErrorKind::FileTooLarge.into()) }
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(ReadOutcome::Nothing),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(ReadOutcome::Some),
        Err(error) => Err(error),
    }
}
