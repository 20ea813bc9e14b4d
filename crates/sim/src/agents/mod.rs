//! The help in the path: adapters between the network and the machines of `assist`, and agents from outside.

pub(crate) mod chain;
pub(crate) mod controller;
pub(crate) mod layer;
pub(crate) mod low_ack;
pub(crate) mod notify;
pub(crate) mod plugin;
pub(crate) mod sdn;
pub(crate) mod sdtp;
