//! Shortcuts that change no result; README.md beside this file explains them.

pub(crate) mod arrival_fifos;
pub(crate) mod flight;
pub(crate) mod pages;
pub(crate) mod tandem;
pub(crate) mod transit;
