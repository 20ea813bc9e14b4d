//! `handfastd`: the remedies on real networks.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    handfast_daemon::program::main()
}
