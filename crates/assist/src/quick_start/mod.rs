//! Routers that take part in Quick-Start (RFC 4782 §3.3) in a scenario. Their machine, one an output link, is
//! `QuickStartLink` in `handfast-net`.

mod spec;

pub use spec::QuickStartRouters;
