//! The nodes of SDTP and their controller on a line, as a driver runs them.

mod admission;
mod attacks;
mod congestion;
mod controller;
mod detours;
mod edges;
mod handshake;
mod hostile;
mod insider;
mod peer;
mod restarts;
mod script;
mod segment;
mod sequences;
mod setting;
mod survive;
mod world;
