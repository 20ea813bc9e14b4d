//! Another configuration while the controller runs: nothing that is held is lost by it.

use handfast_core::Instant;

use super::{ApId, Config, Controller, Mode, Outbox, StationId};

impl Controller {
    /// Goes on with another configuration. `moved`: for each access point of the old one its number in the new one, if it has
    /// one. Stations of access points that are gone are let go. Whoever observes from now on takes its entries back; who begins
    /// to act asks switches to connect anew.
    pub fn reconfigure(&mut self, now: Instant, config: Config, moved: &[Option<ApId>], out: &mut Outbox) {
        let stops = self.shared.config.mode == Mode::Act && config.mode == Mode::Observe;
        let begins = self.shared.config.mode == Mode::Observe && config.mode == Mode::Act;
        let ids: Vec<StationId> = self.stations.keys().copied().collect();
        for id in ids {
            let mut stays = !stops;
            self.with(id, |station, shared| {
                stays &= station.renumber(moved, &config.fabric);
                if !stays {
                    station.let_go(shared, out);
                }
            });
            if !stays {
                self.forget(now, id, out);
            }
        }
        self.sessions.renumber(moved);
        if stops {
            self.remove_entries(out);
        }
        let switches = config.fabric.switches();
        self.shared.switches.reconfigure(
            &config,
            |datapath_id| begins || switches.contains(&datapath_id),
            begins,
            out,
        );
        self.shared.config = config;
    }
}
