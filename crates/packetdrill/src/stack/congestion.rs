//! Socket options of congestion control.

use super::{Errno, Fd, Stack};
use crate::control;

impl Stack {
    /// `TCP_CONGESTION`: its name.
    pub(super) fn control_of(&mut self, fd: Fd) -> Result<[u8; control::NAME_LEN], Errno> {
        let own = self.options(fd)?.congestion_control;
        Ok(control::name_of(own.unwrap_or_else(|| self.settings().control())))
    }

    /// The same, set: a connection that is open goes on with it.
    pub(super) fn set_control(&mut self, fd: Fd, value: &[u8]) -> Result<(), Errno> {
        let name = value.split(|&octet| octet == 0).next().unwrap_or_default();
        let control = control::named(&String::from_utf8_lossy(name)).ok_or(Errno(libc::ENOENT))?;
        self.options(fd)?.congestion_control = Some(control);
        let (now, id) = (self.now, self.stream_of(fd)?);
        if let Some(connection) = id.and_then(|id| self.connections.get_mut(&id)) {
            connection.tcp_mut().set_congestion_control(now, control, control::has_hystart(control));
        }
        Ok(())
    }

    /// `TCP_CC_INFO`: only BBR has some.
    pub(super) fn control_info(&mut self, fd: Fd) -> Result<Vec<u8>, Errno> {
        let id = self.stream_of(fd)?;
        let bbr = id.and_then(|id| self.connections.get(&id)).and_then(|connection| connection.tcp().bbr());
        Ok(bbr.as_ref().map_or_else(Vec::new, control::info))
    }
}
