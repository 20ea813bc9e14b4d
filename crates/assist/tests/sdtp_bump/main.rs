//! Bumps in the wire between hosts: what they convert comes back byte for byte, and all else goes on as it came.

mod ends;
mod fidelity;
mod hostile;
mod overload;
mod repair;
mod whole;
mod world;
