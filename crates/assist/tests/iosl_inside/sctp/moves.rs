//! A client with two addresses, one of which goes.

use handfast_assist::iosl::inside::{InsideId, Kind, Stands, Window};
use handfast_core::Duration;

use crate::world::{DELAY, Faults, Sent, Way, World, octets, own};

/// A download by the first of two addresses.
struct Download<'a> {
    world: World,
    client: InsideId,
    server: InsideId,
    down: Way<'a>,
}

impl<'a> Download<'a> {
    fn begun(all: &'a [u8]) -> Self {
        let mut world = World::new(Faults::default(), 1);
        let [client, server] = world.opened(Kind::Sctp, &[own(1), own(2)]);
        let mut download = Self { world, client, server, down: Way::new(all) };
        assert!(download.until(|download| download.down.came.len() > 1_000_000));
        let other = download.world.server.association(server).unwrap().path(1).unwrap();
        assert!(other.confirmed && other.remote == own(2) && !other.primary);
        download
    }

    fn until(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.world.now + Duration::from_secs(60);
        while !is_so(self) && self.world.now < end {
            let Self { world, client, server, down } = self;
            down.write((&mut world.server, *server));
            down.read(world.now, (&mut world.client, *client));
            // Nothing but what the client's end tells.
            assert!(world.server.read(world.now, *server, 1_000).is_none());
            if !world.step() {
                break;
            }
        }
        is_so(self)
    }

    /// Octets that have come after so long.
    fn after(&mut self, time: Duration) -> usize {
        let (before, end) = (self.down.came.len(), self.world.now + time);
        self.until(|download| download.world.now >= end);
        self.down.came.len() - before
    }

    fn ends_well(mut self) {
        let len = self.down.all.len();
        assert!(self.until(|download| download.down.came.len() == len));
        assert!(self.down.came == self.down.all);
        assert_eq!(self.world.server.len(), 1, "no other association");
    }
}

#[test]
fn an_address_that_is_taken_away_costs_a_round_trip_and_no_association() {
    let all = octets(8_000_000);
    let mut download = Download::begun(&all);
    let window = download.world.server.window(download.world.now, download.server);
    let Some(Window::Sctp(window)) = window else { panic!("{window:?}") };
    download.world.gone.insert(own(1));
    let Download { world, client, .. } = &mut download;
    assert!(world.client.on_addresses(world.now, *client, |address| address != own(1)));
    assert_eq!(world.client.local(*client), Some(own(2)));
    // One way for the news, one round trip for what the window holds: it is spread over that.
    let came = download.after(DELAY * 5);
    assert!(came as u64 > window.cwnd / 2, "{came} octets by a window of {window:?}");
    let now = download.world.server.association(download.server).unwrap().path(1).unwrap();
    assert!(now.primary, "{now:?}");
    download.ends_well();
}

/// A driver reads many datagrams at once, and looks then at what has come.
#[test]
fn what_comes_late_from_the_address_before_leads_nobody_back() {
    let all = octets(8_000_000);
    let mut download = Download::begun(&all);
    download.world.log = Some(Vec::new());
    download.after(DELAY * 2);
    let Download { world, client, server, .. } = &mut download;
    let is_old = |sent: &&Sent| sent.to_server && sent.client.ip() == own(1);
    let late = world.log.take().unwrap().iter().rfind(is_old).unwrap().clone();
    world.gone.insert(own(1));
    assert!(world.client.on_addresses(world.now, *client, |address| address != own(1)));
    world.pass(DELAY * 2);
    world.deliver(late);
    assert!(world.server.read(world.now, *server, 1_000).is_none());
    let other = world.server.association(*server).unwrap().path(1).unwrap();
    assert!(other.primary, "{other:?}");
    download.ends_well();
}

#[test]
fn a_path_that_dies_silently_gives_way_to_the_other_one() {
    let all = octets(8_000_000);
    let mut download = Download::begun(&all);
    download.world.gone.insert(own(1));
    // RTO.Min of 200 ms, doubled once (`path_max_retrans`), and the first octets.
    assert!(download.after(Duration::from_millis(1_500)) > 10_000);
    download.ends_well();
}

#[test]
fn an_address_that_is_back_is_used_again_where_it_is_preferred() {
    let all = octets(8_000_000);
    let mut download = Download::begun(&all);
    let Download { world, client, .. } = &mut download;
    assert!(world.client.on_addresses(world.now, *client, |address| address != own(1)));
    download.after(DELAY * 20);
    let Download { world, client, .. } = &mut download;
    assert!(world.client.on_addresses(world.now, *client, |_| true));
    assert_eq!(world.client.local(*client), Some(own(2)), "it stays where it is");
    assert!(world.client.prefer(world.now, *client, own(1)));
    assert!(!world.client.prefer(world.now, *client, own(3)), "it has no such address");
    assert_eq!(world.client.local(*client), Some(own(1)));
    download.after(DELAY * 20);
    assert!(download.world.server.association(download.server).unwrap().path(0).unwrap().primary);
    download.ends_well();
}

#[test]
fn without_any_address_it_has_no_way() {
    let mut world = World::new(Faults::default(), 1);
    let [client, _] = world.opened(Kind::Sctp, &[own(1), own(2)]);
    assert!(!world.client.on_addresses(world.now, client, |_| false));
    assert_eq!(world.client.stands(client), Stands::Open, "whoever drives it decides what becomes of it");
}

#[test]
fn a_translator_that_gives_another_port_changes_nothing() {
    let mut world = World::new(Faults::default(), 1);
    let [client, server] = world.opened(Kind::Sctp, &[own(1)]);
    let all = octets(400_000);
    let mut up = Way::new(&all);
    for shift in [1_000, 2_000, 3_000] {
        world.shift = shift;
        let most = up.came.len() + 100_000;
        assert!(world.until(|world| {
            up.write((&mut world.client, client));
            up.read(world.now, (&mut world.server, server));
            up.came.len() >= most
        }));
    }
    assert!(world.until(|world| {
        up.write((&mut world.client, client));
        up.read(world.now, (&mut world.server, server));
        up.is_done()
    }));
    assert!(up.came == all);
}
