//! A session's new path begins with the window that its last one had at this end. The kernel has no such call; what is below has to be
//! ours.

use std::collections::BTreeMap;

use handfast_assist::iosl::end::PathId;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::inside::Window;

use super::Carrier;
use super::paths::Path;
use super::wire::Wire;

/// What paths had that are no more.
#[derive(Debug, Default)]
pub(super) struct Windows {
    stored: BTreeMap<Socket, Window>,
    pub(super) restored: u64,
}

impl Windows {
    pub(super) fn retain(&mut self, is_there: impl Fn(Socket) -> bool) {
        self.stored.retain(|session, _| is_there(*session));
    }
}

impl Carrier {
    /// A path goes, or is not used any more.
    pub(super) fn store_window(&mut self, path: PathId) {
        if let Some(Path { session: Some(session), wire: Wire::Inside(stream), .. }) = self.paths.get(&path)
            && let Some(window) = self.udp.window(*stream)
        {
            self.windows.stored.insert(*session, window);
        }
    }

    /// A session uses a path from now on; what it had before on another one is for this one.
    pub(super) fn restore_window(&mut self, session: Socket) {
        let all: Vec<_> = self.end.paths(session).collect();
        let Some((newest, before)) = all.split_last() else { return };
        let stream = |path| match self.paths.get(path).map(|found: &Path| &found.wire) {
            Some(&Wire::Inside(stream)) => Some(stream),
            _ => None,
        };
        let Some(new) = stream(newest) else { return };
        let alive = before.iter().rev().filter_map(stream).find_map(|stream| self.udp.window(stream));
        let stored = self.windows.stored.remove(&session);
        if let Some(found) = self.paths.get_mut(newest)
            && found.session.replace(session).is_none()
            && let Some(window) = alive.or(stored)
            && self.udp.take_over(new, window)
        {
            self.windows.restored += 1;
        }
    }
}
