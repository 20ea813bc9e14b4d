//! Two ends of the ID-oriented socket layer, as drivers run them.

mod attacks;
mod basics;
mod beside;
mod crowds;
mod datagrams;
mod finish;
mod hostile;
mod insider;
mod liveness;
mod memory;
mod programs;
mod room;
mod sequences;
mod share;
mod survive;
mod survive_datagrams;
mod survive_saved;
mod world;
