//! What is below sessions in UDP: two ends, and a network that loses, doubles and delays.

mod both;
mod sctp;
mod tcp;
mod world;
