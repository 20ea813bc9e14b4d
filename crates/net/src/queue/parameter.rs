//! The parameters of a discipline, each with its name, its meaning and its place: whoever reads a scenario file, describes
//! it or lists what there is needs no more.

use std::fmt;

use handfast_core::Duration;

use super::QueueLimit;

/// A parameter of a discipline.
#[derive(Debug)]
pub struct Parameter<'a> {
    /// Its key in scenario files.
    pub key: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Its value, to read and to change.
    pub value: Value<'a>,
}

/// A parameter's value, by kind.
#[derive(Debug)]
pub enum Value<'a> {
    /// How much the queue holds; [`None`]: any amount.
    Limit(&'a mut Option<QueueLimit>),
    /// A time above zero.
    Time(&'a mut Duration),
}

/// As scenario files write it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(None) => f.write_str("unlimited"),
            Self::Limit(Some(QueueLimit::Packets(most))) => write!(f, "{most}pkt"),
            Self::Limit(Some(QueueLimit::Bytes(most))) => write!(f, "{}B", most.get()),
            Self::Time(time) => time.fmt(f),
        }
    }
}
