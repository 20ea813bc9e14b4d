//! What holds for any bytes at the association socket, shared by the test of the corpus and the fuzz target.

use handfast_daemon::association::{LONGEST_LINE, Request};

/// Reads `data` as lines: each is an event of one station, a question, or wrong in so many words.
pub(crate) fn survive_input(data: &[u8]) {
    for line in data.split(|&byte| byte == b'\n') {
        match Request::parse(line) {
            Ok(Request::StationEvent { station, .. }) => {
                assert!(line.len() <= LONGEST_LINE);
                assert!(station[0] & 1 == 0 && station != [0; 6], "{station:?}");
            }
            Ok(Request::Hello { stations, .. }) => {
                assert!(stations.len() <= LONGEST_LINE / 20);
                assert!(stations.iter().all(|station| station[0] & 1 == 0 && *station != [0; 6]));
            }
            Ok(Request::Forget { station }) => assert!(station[0] & 1 == 0, "{station:?}"),
            Ok(Request::Status | Request::Reload) => assert!(line.len() <= LONGEST_LINE),
            // The answer is one short line, whatever is quoted in it.
            Err(error) => {
                let answer = serde_json::json!({"error": error.to_string()}).to_string();
                assert!(!answer.contains('\n') && answer.len() <= 1000, "{answer}");
            }
        }
    }
}
