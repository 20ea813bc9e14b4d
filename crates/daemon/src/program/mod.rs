//! The program that runs a service of the registry: the command line, the main loop, signals.

mod check;
mod command_line;
mod main_loop;
mod signals;

pub use command_line::main;
