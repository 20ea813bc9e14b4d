//! Links in tandem: where all that comes out of a link goes on by links that nothing else enters, when it gets there is
//! known as soon as it enters the first. No event stands between them.

use handfast_plan::Paths;
use handfast_plan::topology::ChannelId;

/// Who enters a channel, as far as the flows' paths say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// What comes out of one other channel.
    Channel(u32),
    /// Hosts, or what comes out of several channels.
    Several,
}

impl Feeder {
    fn and(self, other: Self) -> Self {
        if self == Self::Nobody || self == other { other } else { Self::Several }
    }
}

/// The channels whose packets can be sent on when they enter: the one after such a channel sees the same packets in the same
/// order at the same times as if each had waited for its arrival. Nothing may happen to either that is not known by then,
/// and no flow may end between them. `fixed` says of a channel that nothing does, and nobody looks where it begins.
pub(crate) fn leading(paths: &Paths, channels: usize, fixed: impl Fn(ChannelId) -> bool) -> Vec<ChannelId> {
    let several = || paths.several.iter().flatten().flatten();
    let routes = || paths.forward.iter().chain(&paths.backward).chain(several());
    let mut feeders = vec![Feeder::Nobody; channels];
    for route in routes() {
        let before = std::iter::once(Feeder::Several).chain(route.iter().map(|&id| Feeder::Channel(id)));
        for (&id, feeder) in route.iter().zip(before) {
            feeders[id as usize] = feeders[id as usize].and(feeder);
        }
    }
    let mut leads = vec![false; channels];
    for &id in routes().flatten() {
        leads[id as usize] = fixed(id as usize);
    }
    for route in routes() {
        for (at, &id) in route.iter().enumerate() {
            let next = route.get(at + 1).map(|&next| next as usize);
            leads[id as usize] &=
                next.is_some_and(|next| feeders[next] == Feeder::Channel(id) && fixed(next));
        }
    }
    (0..channels).filter(|&id| leads[id]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of the flows with these paths that lead on, where nothing happens to any but `changing`.
    fn found(routes: &[&[u32]], changing: &[ChannelId]) -> Vec<ChannelId> {
        let forward = routes.iter().map(|route| route.to_vec()).collect();
        let paths = Paths { forward, backward: Vec::new(), several: Vec::new(), reroutes: Vec::new() };
        leading(&paths, 10, |id| !changing.contains(&id))
    }

    #[test]
    fn a_bottleneck_leads_on_and_what_comes_together_before_it_does_not() {
        assert_eq!(found(&[&[0, 4, 6], &[2, 4, 8]], &[]), [4]);
        assert_eq!(found(&[&[0, 4, 6]], &[]), [0, 4]);
    }

    #[test]
    fn where_another_flow_begins_ends_or_joins_nothing_is_known_ahead() {
        assert!(found(&[&[0, 4, 6], &[2, 4]], &[]).is_empty(), "a flow ends after 4");
        assert_eq!(found(&[&[0, 4, 6], &[6]], &[]), [0], "one begins before 6");
        assert_eq!(found(&[&[0, 4, 6], &[2, 6]], &[]), [0], "one joins before 6");
        assert_eq!(found(&[&[0, 4, 6], &[0, 2, 8]], &[]), [0, 2, 4], "they part after 0");
    }

    #[test]
    fn a_link_that_changes_neither_leads_nor_is_led_to() {
        assert_eq!(found(&[&[0, 4, 6, 8]], &[4]), [6]);
        assert_eq!(found(&[&[0, 4, 6], &[0, 2, 8]], &[2]), [4], "one of those after 0");
    }
}
