//! The proxy: two hosts, one proxy or several between them, and links with delay and losses.

mod rules;
mod streams;
mod survive;
mod world;
