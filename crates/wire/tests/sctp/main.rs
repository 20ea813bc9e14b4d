//! SCTP: its layout byte by byte, what is refused, and that any bytes are survived.

mod hostile;
mod layout;
mod refused;
mod samples;
mod survive;
