//! The `OpenFlow` switch, rule by rule. Section numbers are those of the `OpenFlow` Switch Specification 1.3.5.

mod bench;
mod flow_mods;
mod matching;
mod pipeline;
mod requests;
mod timeouts;
