//! SDTP: its layout byte by byte, its carriages, what is refused, what a seal covers.

mod carriage;
mod hostile;
mod layout;
mod not_emitted;
mod parity;
mod refused;
mod samples;
mod seal;
mod survive;
