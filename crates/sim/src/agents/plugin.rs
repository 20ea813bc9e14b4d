//! Agents that are not built in: how a scheme's `agents` become machines in the path.

use handfast_assist::Agent;
use handfast_core::Stream;
use handfast_scenario::{NodeId, Scenario};

/// Makes the machine for one node at which an agent of a scheme is attached. The stream is the machine's own.
pub type Maker =
    Box<dyn Fn(&Scenario, &handfast_scenario::Agent, NodeId, Stream) -> Box<dyn Agent> + Send + Sync>;

/// The kinds of agents a run knows.
#[derive(Default)]
pub struct Plugins {
    makers: Vec<(String, Maker)>,
}

impl Plugins {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind: a scheme's `agents = [{kind = "…", …}]` with that kind gets machines from `maker`.
    #[must_use]
    pub fn with(mut self, kind: &str, maker: Maker) -> Self {
        self.makers.push((kind.to_owned(), maker));
        self
    }

    /// What makes agents of that kind.
    pub(crate) fn maker(&self, kind: &str) -> Option<&Maker> {
        self.makers.iter().find(|(name, _)| name == kind).map(|(_, maker)| maker)
    }

    /// The kinds, in the order in which they were added.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.makers.iter().map(|(name, _)| name.as_str())
    }
}
