//! What of this machine keeps a configuration from running, and what to do about it.

use super::config::Settings;
use crate::process::{port_obstacle, socket_obstacles};
use crate::services::tls::TlsTable;

/// Everything that is in the way, each in one line with what to do next. It changes nothing.
pub(super) fn obstacles(settings: &Settings) -> Vec<String> {
    let socket = socket_obstacles("association_socket", &settings.association_socket);
    let tls = settings.tls.as_ref().and_then(TlsTable::obstacle);
    socket.chain(port_obstacle(settings.listen)).chain(tls).collect()
}
