//! Whole runs, from a scenario to its result.

mod air;
mod applications;
mod captures;
mod chains;
mod datagrams;
mod determinism;
mod eln;
mod end_notice;
mod impairments;
mod measured;
mod parallel;
mod plugin;
mod queues;
mod quick_start;
mod reconnect;
mod roams;
mod sdn;
mod series;
mod snoop;
mod subnets;
mod support;
mod table;
mod tandem;
mod vho;
mod walks;
mod wlan;
