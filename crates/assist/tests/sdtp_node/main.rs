//! The nodes of SDTP and their controller on a line, as a driver runs them.

mod admission;
mod attacks;
mod controller;
mod edges;
mod handshake;
mod hostile;
mod peer;
mod restarts;
mod script;
mod segment;
mod sequences;
mod survive;
mod world;
