//! Agents in virtual time, a folder a system.

pub(crate) mod sdn;
