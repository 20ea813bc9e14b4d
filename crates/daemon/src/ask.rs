//! One line said to a running daemon, and its answer.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// What a daemon has for its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says `line` at the association socket.
///
/// # Errors
/// Nobody listens there, or the answer is none.
pub fn ask(socket: &Path, line: &Value) -> io::Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    serde_json::from_str(&answer).map_err(io::Error::from)
}
