//! One line said to a running daemon, and its answer.

use std::io;
use std::path::Path;
use std::time::Duration;

use handfast_io::line_socket::LineCaller;
use serde_json::Value;

/// What a daemon has for its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says `line` at a service's line socket.
///
/// # Errors
/// Nobody listens there, or the answer is none.
pub(crate) fn ask(socket: &Path, line: &Value) -> io::Result<Value> {
    let answer = LineCaller::connect(socket, PATIENCE)?.ask(&line.to_string())?;
    serde_json::from_str(&answer).map_err(io::Error::from)
}
