//! The endpoint as a stack for packetdrill's `--so_filename`: sockets over [`handfast_tcp::Endpoint`], in virtual time.
//!
//! Nothing here waits in real time: time passes when the tool sleeps or waits for a packet, and jumps to the next deadline. So a
//! script takes as long as its commands do, and its times are exact.
#![cfg(target_os = "linux")]

mod control;
mod route;
mod shell;
mod stack;
mod sys;
mod sysctl;
mod tool;

pub use route::Route;
pub use stack::{Control, Errno, Fd, Message, Polled, Queue, Stack, Step};
pub use sysctl::Settings;
