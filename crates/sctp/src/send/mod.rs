//! What is to be sent, and what was: messages that wait, chunks that are outstanding.

mod outstanding;
mod queue;

pub(crate) use outstanding::{Acknowledged, Loss, Outstanding};
pub(crate) use queue::Queue;
