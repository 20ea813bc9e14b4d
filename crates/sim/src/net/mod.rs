//! What the network consists of: links, the packets on them, the media that radio links share, and what is captured and counted.

pub(crate) mod books;
pub(crate) mod capture;
pub(crate) mod inspection;
pub(crate) mod links;
pub(crate) mod medium;
pub(crate) mod packets;
pub(crate) mod quick_start;
mod tally;
