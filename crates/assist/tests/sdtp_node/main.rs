//! A node of SDTP and its controller, by the messages that they get and send.

mod controller;
mod segment;
