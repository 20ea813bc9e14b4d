//! Behind which edge a host is: the controller says it, and an edge remembers it.

use std::net::IpAddr;

use handfast_core::{Duration, Instant};

use crate::recent::Recent;

/// Hosts that are remembered.
const MOST: usize = 65_536;

/// An answer that does not come in this time was lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// An answer is asked for anew after this time: a host may have moved, or a path may have come up.
const LIFETIME: Duration = Duration::from_secs(60);

/// The other edge, and the slice.
pub(in super::super) type Route = (IpAddr, u16);

/// What is known of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Known {
    /// Nothing: its packets pass as they are.
    Nothing,
    /// No edge with a path has it.
    Nowhere,
    /// Where it is.
    At(Route),
}

#[derive(Debug)]
struct Entry {
    known: Known,
    ask_again: Instant,
}

/// The routes of an edge.
#[derive(Debug)]
pub(in super::super) struct Routes(Recent<Entry, IpAddr>);

impl Routes {
    pub(in super::super) fn new() -> Self {
        Self(Recent::new(MOST))
    }

    /// What is known of a host, and whether to ask the controller for it.
    pub(in super::super) fn find(&mut self, now: Instant, host: IpAddr) -> (Known, bool) {
        let Some(place) = self.0.find(&host) else { return (Known::Nothing, true) };
        let entry = self.0.touch(now, place);
        (entry.known, entry.ask_again <= now)
    }

    /// The controller has been asked.
    pub(in super::super) fn asked(&mut self, now: Instant, host: IpAddr) {
        self.entry(now, host).ask_again = now + PATIENCE;
    }

    /// The controller has answered.
    pub(in super::super) fn learn(&mut self, now: Instant, host: IpAddr, route: Option<Route>) {
        let known = route.map_or(Known::Nowhere, Known::At);
        *self.entry(now, host) = Entry { known, ask_again: now + LIFETIME };
    }

    fn entry(&mut self, now: Instant, host: IpAddr) -> &mut Entry {
        let place = self.0.find(&host).unwrap_or_else(|| {
            if let Some(silent) = self.0.in_the_way() {
                self.0.remove(&silent);
            }
            self.0.insert(now, host, Entry { known: Known::Nothing, ask_again: now })
        });
        self.0.touch(now, place)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn the_controller_is_asked_once_and_again_if_its_answer_does_not_come() {
        let (mut routes, at) = (Routes::new(), Instant::from_millis);
        assert_eq!(routes.find(at(0), host(1)), (Known::Nothing, true));
        routes.asked(at(0), host(1));
        assert_eq!(routes.find(at(999), host(1)), (Known::Nothing, false));
        assert_eq!(routes.find(at(1000), host(1)), (Known::Nothing, true));
    }

    #[test]
    fn an_answer_is_used_while_a_new_one_is_asked_for() {
        let (mut routes, at) = (Routes::new(), |seconds: u64| Instant::from_millis(seconds * 1000));
        routes.learn(at(0), host(1), Some((host(9), 3)));
        routes.learn(at(0), host(2), None);
        assert_eq!(routes.find(at(59), host(1)), (Known::At((host(9), 3)), false));
        assert_eq!(routes.find(at(59), host(2)), (Known::Nowhere, false));
        assert_eq!(routes.find(at(60), host(1)), (Known::At((host(9), 3)), true));
        routes.asked(at(60), host(1));
        assert_eq!(routes.find(at(60), host(1)), (Known::At((host(9), 3)), false));
    }

    #[test]
    fn the_host_that_was_silent_longest_is_forgotten() {
        let mut routes = Routes::new();
        for number in 0..=MOST as u32 {
            routes.learn(Instant::from_nanos(number.into()), host(number), None);
        }
        let end = Instant::from_millis(1);
        assert_eq!(routes.find(end, host(0)), (Known::Nothing, true));
        assert_eq!(routes.find(end, host(1)), (Known::Nowhere, false));
    }
}
