//! `OpenFlow` 1.3: layout, errors, round trips, framing, hostile bytes.

mod errors;
mod framing;
mod layout;
mod messages;
mod not_emitted;
mod open_vswitch;
mod refused;
mod round_trip;
mod survive;
