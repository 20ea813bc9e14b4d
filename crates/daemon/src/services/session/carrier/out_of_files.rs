//! That no more files may be open is said once, not of each path that is dialled in vain.

use std::io;

use nix::errno::Errno;
use tracing::warn;

#[derive(Debug, Default)]
pub(super) struct OutOfFiles {
    is_said: bool,
}

impl OutOfFiles {
    /// What has become of a path. Whether it is said.
    pub(super) fn note(&mut self, error: Option<&io::Error>) -> bool {
        let code = error.and_then(io::Error::raw_os_error).map(Errno::from_raw);
        let is_out = matches!(code, Some(Errno::EMFILE | Errno::ENFILE));
        let says = is_out && !self.is_said;
        if says {
            warn!(
                "no more files may be open: sessions without a path wait until others end; `ulimit -n` sets how many"
            );
        }
        // Another failure says nothing of files.
        self.is_said = is_out || self.is_said && error.is_some();
        says
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_until_a_path_has_its_file() {
        let full = io::Error::from_raw_os_error(Errno::EMFILE as i32);
        let system = io::Error::from_raw_os_error(Errno::ENFILE as i32);
        let other = io::Error::from_raw_os_error(Errno::ENETUNREACH as i32);
        let mut out = OutOfFiles::default();
        assert!(!out.note(None) && !out.note(Some(&other)));
        assert!(
            out.note(Some(&full))
                && !out.note(Some(&system))
                && !out.note(Some(&other))
                && !out.note(Some(&full))
        );
        assert!(!out.note(None) && out.note(Some(&system)));
    }
}
