//! The state of Quick-Start routers: which nodes take part, and what each knows of its output links (RFC 4782).

use std::collections::BTreeMap;

use handfast_core::Stream;
use handfast_net::QuickStartLink;
use handfast_plan::topology::ChannelId;
use handfast_scenario::{AgentKind, NodeId, Scheme};
use handfast_tcp::{Config, QuickStartRequest};

/// Who takes part, and the links of which something is known.
#[derive(Debug)]
pub(crate) struct Routers {
    seed: u64,
    /// For each node that takes part its threshold, in thousandths of a link's rate.
    taking_part: BTreeMap<NodeId, u16>,
    links: BTreeMap<ChannelId, QuickStartLink>,
}

impl Routers {
    /// [`None`]: the scheme knows nothing of Quick-Start.
    pub(crate) fn new(scheme: &Scheme, seed: u64) -> Option<Box<Self>> {
        let mut taking_part = BTreeMap::new();
        for agent in &scheme.agents {
            if let AgentKind::QuickStart(given) = agent.kind {
                taking_part.extend(agent.at.iter().map(|&node| (node, given.threshold_permille)));
            }
        }
        let asks = |tcp: &Config| tcp.quick_start != QuickStartRequest::Off;
        let any = asks(&scheme.sender) || asks(&scheme.receiver) || !taking_part.is_empty();
        any.then(|| Box::new(Self { seed, taking_part, links: BTreeMap::new() }))
    }

    /// The output link of a node that takes part.
    pub(crate) fn link(&mut self, node: NodeId, out: ChannelId) -> Option<&mut QuickStartLink> {
        let threshold = *self.taking_part.get(&node)?;
        let random = || Stream::new(self.seed, &format!("quick-start link {out}"));
        Some(self.links.entry(out).or_insert_with(|| QuickStartLink::new(threshold, random())))
    }
}
