//! What a process of before is said to have written down: shared by the property tests and the fuzz target.

use handfast_assist::iosl::end::{Config, End, Identity, Saved};
use handfast_assist::iosl::ids::Id;
use handfast_assist::iosl::secure::{Allowed, Keys};
use handfast_core::Instant;

const NOW: Instant = Instant::from_millis(5_000);

/// What is taken is what would be written; an end goes on with it, and forgets it when nobody comes.
pub(crate) fn survive_saved(octets: &[u8]) {
    let Some(saved) = Saved::parse(octets) else { return };
    assert_eq!(saved.emit(), octets, "nothing has two forms");
    let identity = Identity { keys: Keys::new([2; 32]), allowed: Allowed::default(), seed: [3; 32] };
    let mut end = End::new(identity, Config::default());
    // The second one has the first one's names.
    for _ in 0..2 {
        let _ = end.restore(NOW, Id([1; 16]), &saved, None);
    }
    while let Some(at) = end.deadline() {
        end.on_timer(at);
        while end.poll_action().is_some() {}
    }
    assert_eq!((end.sessions().count(), end.memory()), (0, 0));
}
