//! Two ends of the ID-oriented socket layer, as drivers run them.

mod attacks;
mod basics;
mod sequences;
mod world;
