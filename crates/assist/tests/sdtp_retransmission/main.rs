//! The retransmission node of SDTP, rule by rule (`[sdtp]` §III-C).

mod bounds;
mod by_count;
mod by_time;
mod by_timeout;
mod lists;
mod model;
mod segments;
mod world;
