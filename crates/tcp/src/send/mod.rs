//! Sending: RFC 9293's send variables, what waits to be sent, and what is known to have arrived.
//!
//! `sender` holds the state of the direction, `send_buffer` the payload, `scoreboard` what the peer has SACKed (RFC 6675),
//! `validation` whether the window was used (RFC 2861), `progress` how far loss recovery has come, `answers` which marks of congestion
//! are answered (RFC 3168), `cuts` where segments end, for who goes by that. What goes next is chosen in `endpoint/choose.rs`. What needs all of this is above it: `recovery`, `spurious` and `help` act on a [`sender::Sender`] that does
//! not know them.

pub(crate) mod answers;
pub(crate) mod cuts;
pub(crate) mod memory;
pub(crate) mod piece;
pub(crate) mod progress;
pub(crate) mod scoreboard;
pub(crate) mod send_buffer;
pub(crate) mod sender;
pub(crate) mod validation;
