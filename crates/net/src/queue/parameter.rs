//! The parameters of a discipline, each with its name, its meaning and its place: whoever reads a scenario file, describes
//! it or lists what there is needs no more.

use std::fmt;

use handfast_core::{Bytes, Duration};

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
    /// Bytes, one at least.
    Size(&'a mut Bytes),
    /// Packets, one at least.
    Packets(&'a mut u32),
    /// A share above nothing, in hundredths of a percent, 10,000 at most.
    Share(&'a mut u32),
    /// A share above nothing and below all, in hundredths of a percent.
    Part(&'a mut u32),
}

/// As scenario files write it.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(None) => f.write_str("unlimited"),
            Self::Limit(Some(QueueLimit::Packets(most))) => write!(f, "{most}pkt"),
            Self::Limit(Some(QueueLimit::Bytes(most))) => write!(f, "{}B", most.get()),
            Self::Time(time) => time.fmt(f),
            Self::Size(bytes) => write!(f, "{}B", bytes.get()),
            Self::Packets(packets) => write!(f, "{packets}pkt"),
            Self::Share(share) | Self::Part(share) => write!(f, "{}%", f64::from(**share) / 100.0),
        }
    }
}
