//! The zero-window scheme (`[sdn]` §3.1): while a station is away the controller is the receiver in its place. It acknowledges what
//! comes with a window of zero, so that the sender freezes instead of timing out, and hands it over when the station is back.
//!
//! What is acknowledged the sender forgets. So the controller answers only for a connection of which it knows, from the
//! switch's counters and the access point's, that the station has every byte before the first one it is sent itself; otherwise
//! it leaves the connection to its TCP, and drops what comes, as under `bare`.

mod account;
mod answer;
mod ledger;

pub(super) use account::Judgement;
pub(super) use answer::answer;
pub(super) use ledger::Ledger;
