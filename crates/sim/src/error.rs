//! How a run fails.

use std::fmt;
use std::io;
use std::path::PathBuf;

use handfast_wire::ThroughWireError;
use handfast_wire::pcapng::PcapngError;

/// Why there is no result.
#[derive(Debug)]
pub enum RunError {
    /// [`handfast_results::Control::cancel`].
    Cancelled,
    /// The scenario asks for what cannot be run: one sentence.
    Scenario(String),
    /// The receiving application got a byte that was not sent at that position: a bug in a machine on the path.
    WrongByte {
        /// The flow's name.
        flow: String,
        /// Position in the flow's stream.
        position: u64,
    },
    /// A packet does not survive a wire (`verify_wire`): a bug in the machine that made it.
    Wire(ThroughWireError),
    /// A capture could not be written.
    Capture {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: PcapngError,
    },
    /// The sink of the time series failed.
    Series(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Scenario(why) => f.write_str(why),
            Self::WrongByte { flow, position } => {
                write!(f, "flow `{flow}`: byte {position} arrived wrong; please report this as a bug")
            }
            Self::Wire(error) => {
                write!(f, "a packet does not survive the wire: {error}; please report this as a bug")
            }
            Self::Capture { path, error } => write!(f, "capture {}: {error}", path.display()),
            Self::Series(error) => write!(f, "time series: {error}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Wire(error) => Some(error),
            Self::Capture { error, .. } => Some(error),
            Self::Series(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ThroughWireError> for RunError {
    fn from(error: ThroughWireError) -> Self {
        Self::Wire(error)
    }
}
