//! The mobile of [vho]: it tells the senders of its flows of its access link.
//!
//! Daniel and Kojo, "Enhancing TCP with Cross-layer Notifications and Capacity Estimation in Heterogeneous Access Networks" (2012),
//! cited as `[vho]`. What the sender does about it is `help` in `handfast-tcp`; how the message travels, which the paper leaves
//! open, is in docs/explanation/deviations.md.

mod notifier;
pub mod spec;

pub use notifier::{Config, Correspondent, Notifier, Told};
