//! What has arrived: which TSNs, the messages that they make, and when to acknowledge.

mod acks;
mod arrivals;
mod fragments;
mod inbound;
mod reassembly;

pub(crate) use acks::Acks;
pub(crate) use inbound::{Inbound, Refused};
