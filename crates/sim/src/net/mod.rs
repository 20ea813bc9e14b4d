//! The network in motion: links, the packets on them, the media that radio links share, and what is captured.

pub(crate) mod books;
pub(crate) mod capture;
mod hop;
pub(crate) mod inspection;
pub(crate) mod links;
pub(crate) mod medium;
pub(crate) mod network;
pub(crate) mod packets;
pub(crate) mod quick_start;
pub(crate) mod tally;
