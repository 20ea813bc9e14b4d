//! The daemon as a process, between a scripted switch, scripted access points and HTTP clients on real sockets.

mod datagrams;
mod faults;
mod metrics;
mod observe;
mod record;
mod roam;
mod sdtp;
mod session;
mod session_below;
mod session_caught;
mod session_datagrams;
mod session_failures;
mod session_kept;
mod session_scene;
mod signals;
mod support;
mod tls;
