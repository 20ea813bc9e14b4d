//! Who is at the other end of a Unix socket.
#![forbid(unsafe_code)]

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

/// The user who has connected (unix(7), `SO_PEERCRED`).
///
/// # Errors
/// What getsockopt(2) says.
pub fn peer_user(stream: &impl AsFd) -> io::Result<u32> {
    Ok(getsockopt(&stream.as_fd(), PeerCredentials)?.uid())
}
