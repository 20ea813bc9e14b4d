//! Sending: RFC 9293's send variables, what waits to be sent, what is known to have arrived, and when segments may leave.
//!
//! `sender` holds the state of the direction, `send_buffer` the payload, `scoreboard` what the peer has SACKed (RFC 6675),
//! `validation` whether the window was used (RFC 2861), `pacer` when segments may leave. What goes next is chosen in
//! `endpoint/transmit.rs`.

pub(crate) mod pacer;
pub(crate) mod scoreboard;
pub(crate) mod send_buffer;
pub(crate) mod sender;
pub(crate) mod validation;
