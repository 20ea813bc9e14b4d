//! Two ends of the ID-oriented socket layer, as drivers run them.

mod attacks;
mod basics;
mod hostile;
mod insider;
mod memory;
mod programs;
mod sequences;
mod survive;
mod world;
