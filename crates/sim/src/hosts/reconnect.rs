//! The state of an application that reconnects after an error: what a flow's next connection is made of.

use std::sync::Arc;

use handfast_host::app::Reconnect;
use handfast_scenario::Flow;
use handfast_tcp::Config;

/// What a flow's next connection is made of.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) name: String,
    pub(crate) how: Reconnect,
    pub(crate) sender: Arc<Config>,
    pub(crate) receiver: Arc<Config>,
    pub(crate) seed: u64,
    /// A session opens it, and not the application.
    pub(crate) in_session: bool,
}

impl Again {
    /// One that is opened as `how` says.
    pub(crate) fn new(flow: &Flow, how: Reconnect, [sender, receiver]: [&Arc<Config>; 2], seed: u64) -> Self {
        let (sender, receiver) = (Arc::clone(sender), Arc::clone(receiver));
        Self { name: flow.name.clone(), how, sender, receiver, seed, in_session: false }
    }
}
