//! Receiving: the window, payload in order and beyond holes, and when to acknowledge.
//!
//! `receiver` holds the state of the direction, `receive_buffer` the payload that waits to be read, `reassembly` the payload
//! beyond holes, `quick_ack` Linux's rules for acknowledgements, `autotune` Linux's rules for the window, `memory` what they follow from in a
//! socket.

pub(crate) mod autotune;
pub(crate) mod memory;
pub(crate) mod quick_ack;
pub(crate) mod reassembly;
pub(crate) mod receive_buffer;
pub(crate) mod receiver;
