//! How a run is asked for.

use std::path::PathBuf;

/// What a run does besides simulating.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seeds every random stream of the run.
    pub seed: u64,
    /// Whether time series are sampled and handed to the sink.
    pub series: bool,
    /// Emits and parses every packet on every hop, as a real wire would; the results are the same.
    pub verify_wire: bool,
    /// Where captures go, a file a node of the scenario's `captures`; [`None`]: nothing is captured. The directory must
    /// exist.
    pub capture_dir: Option<PathBuf>,
}
