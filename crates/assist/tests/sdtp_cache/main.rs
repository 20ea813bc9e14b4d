//! The caching node, the resequencing edge, the placement and the seals of SDTP, each by itself.

mod caching;
mod caching_model;
mod map;
mod node;
mod placement;
mod requests;
mod resequence;
mod resequence_model;
