//! The `OpenFlow` switch, rule by rule. Section numbers are those of the `OpenFlow` Switch Specification 1.3.5.

mod bench;
mod flow_mods;
mod generate;
mod hostile;
mod matching;
mod naive;
mod open_vswitch;
mod pipeline;
mod random;
mod requests;
mod timeouts;
