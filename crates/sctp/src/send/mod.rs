//! What is to be sent, and what was: messages that wait, chunks that are outstanding.

mod acknowledge;
mod outstanding;
mod queue;

pub(crate) use acknowledge::Acknowledged;
pub(crate) use outstanding::{Loss, Outstanding};
pub(crate) use queue::Queue;
