//! The caching node, the resequencing edge, the placement and the seals of SDTP, each by itself.

mod resequence;
mod resequence_model;
