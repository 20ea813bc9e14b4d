//! Why a run in the lab gave no result.

use std::fmt;
use std::io;

/// Why there is no result.
#[derive(Debug)]
pub enum LabError {
    /// Somebody asked the run to end.
    Cancelled,
    /// The scenario asks for what the lab cannot run: one sentence.
    Scenario(String),
    /// The receiving application got a byte that was not sent at that position.
    WrongByte {
        /// The flow's name.
        flow: String,
        /// Position in the flow's stream.
        position: u64,
    },
    /// The kernel refused something.
    System {
        /// What was tried.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// The sink of the time series failed.
    Series(io::Error),
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Scenario(why) => f.write_str(why),
            Self::WrongByte { flow, position } => {
                write!(f, "flow `{flow}`: byte {position} arrived wrong; please report this as a bug")
            }
            Self::System { what, error } => write!(f, "{what}: {error}"),
            Self::Series(error) => write!(f, "time series: {error}"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } | Self::Series(error) => Some(error),
            Self::Cancelled | Self::Scenario(_) | Self::WrongByte { .. } => None,
        }
    }
}

/// Says what was tried.
pub(crate) trait Tried<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, LabError>;
}

impl<T> Tried<T> for io::Result<T> {
    fn tried(self, what: impl FnOnce() -> String) -> Result<T, LabError> {
        self.map_err(|error| LabError::System { what: what(), error })
    }
}
