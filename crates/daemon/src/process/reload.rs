//! SIGHUP: the configuration is read again, and applied or refused as a whole.

use std::fs;

use handfast_document::DocumentError;
use tracing::{error, info, warn};

use super::{ConfigFile, changes, switched_off};

/// Reads the configuration again: what it says, and whether the service is switched off. [`None`]: it is wrong, which was
/// logged, and nothing changes.
pub(crate) fn reread<T>(
    file: &mut ConfigFile,
    parse: impl FnOnce(&str, &str) -> Result<T, DocumentError>,
) -> Option<(T, bool)> {
    let name = file.name();
    let text = match fs::read_to_string(&file.path) {
        Ok(text) => text,
        Err(error) => {
            error!(%error, file = name, "configuration not read: the old one stays");
            return None;
        }
    };
    match parse(&text, &name) {
        Ok(settings) => {
            file.text = text;
            let off = switched_off::is_set(&file.path);
            if off {
                warn!(mark = %switched_off::mark(&file.path).display(), "switched off: it observes");
            }
            Some((settings, off))
        }
        Err(error) => {
            let (line, error) = (error.line, error.to_string());
            error!(file = name, line, error, "configuration refused: the old one stays");
            None
        }
    }
}

/// Logs each line of the plan that changes.
pub(crate) fn log_changes(old: &str, new: &str) {
    for change in changes(old, new) {
        info!(change, "configuration");
    }
}
