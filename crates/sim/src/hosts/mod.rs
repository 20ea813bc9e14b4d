//! What runs at the ends of flows: applications on TCP endpoints.

pub(crate) mod advertisements;
pub(crate) mod app;
mod ends;
pub(crate) mod side;
