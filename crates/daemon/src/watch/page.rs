//! One HTML page, which needs nothing else.

use super::report::Report;

pub(super) fn page(report: &Report) -> String {
    let _ = report;
    String::new()
}
