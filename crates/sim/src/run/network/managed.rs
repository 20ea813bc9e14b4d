//! What queue disciplines decide, by who sent the packet.

use crate::engine::ids::Handle;
use crate::net::books::Managed;
use crate::run::network::Network;

impl Network {
    /// A queue discipline has marked a packet "congestion experienced".
    #[cold]
    pub(crate) fn mark(&mut self, handle: Handle) {
        self.packets.mark(handle);
        self.count_managed(handle, |counts| &mut counts.marked);
    }

    /// A queue discipline has decided about a packet.
    #[cold]
    pub(crate) fn count_managed(&mut self, handle: Handle, count: fn(&mut Managed) -> &mut u64) {
        let label = self.packets.label(handle);
        if label.has_payload {
            *count(self.books.managed.entry(label.origin).or_default()) += 1;
        }
    }
}
