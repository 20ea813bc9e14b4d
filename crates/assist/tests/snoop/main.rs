//! Snoop's two routines and its timer, rule by rule (`[snoop]` §4.1).

mod rules;
mod traces;
mod world;
