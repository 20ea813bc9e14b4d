//! The state of an application that reconnects after an error: what a flow's next connection is made of.

use std::sync::Arc;

use handfast_core::Duration;
use handfast_scenario::Flow;
use handfast_tcp::Config;

/// What a flow's next connection is made of.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) name: String,
    pub(crate) after: Duration,
    pub(crate) sender: Arc<Config>,
    pub(crate) receiver: Arc<Config>,
    pub(crate) seed: u64,
}

impl Again {
    /// [`None`]: the flow has one connection.
    pub(crate) fn new(flow: &Flow, [sender, receiver]: [&Arc<Config>; 2], seed: u64) -> Option<Self> {
        let after = flow.app.reconnects()?;
        let (sender, receiver) = (Arc::clone(sender), Arc::clone(receiver));
        Some(Self { name: flow.name.clone(), after, sender, receiver, seed })
    }
}
