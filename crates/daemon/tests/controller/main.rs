//! The daemon as a process, between a scripted switch and scripted access points on real sockets.

mod datagrams;
mod faults;
mod observe;
mod record;
mod roam;
mod signals;
mod support;
