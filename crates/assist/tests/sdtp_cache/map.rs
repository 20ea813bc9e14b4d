//! The controller's map: paths, and placement on it.

use handfast_assist::sdtp::map::{Avoid, Kind, LinkFacts, LinkId, Map, NodeId};
use handfast_assist::sdtp::placement::{DelayModel, on_map};
use handfast_core::{BitRate, Duration};
use proptest::prelude::*;

const MODEL: DelayModel = DelayModel { interval: Duration::from_millis(15) };

fn facts(ms: u64, loss: f64) -> LinkFacts {
    LinkFacts {
        delay: Duration::from_millis(ms),
        loss: [loss, 0.0],
        rate: BitRate::from_bps(1_000_000),
        is_up: true,
    }
}

/// Host, edge, two ways with two and three links, edge, host.
struct World {
    map: Map,
    hosts: [NodeId; 2],
    short: [LinkId; 2],
    long: [LinkId; 3],
}

fn world(loss: f64) -> World {
    let mut map = Map::default();
    let hosts = [map.node(Kind::Host), map.node(Kind::Host)];
    let edges = [map.node(Kind::Edge), map.node(Kind::Edge)];
    let [s1, s2, s3] = [(); 3].map(|()| map.node(Kind::Switch));
    map.connect(hosts[0], edges[0], facts(20, 0.3));
    let short = [map.connect(edges[0], s1, facts(5, loss)), map.connect(edges[1], s1, facts(6, 0.0))];
    let long = [
        map.connect(edges[0], s2, facts(5, 0.0)),
        map.connect(s2, s3, facts(5, 0.0)),
        map.connect(s3, edges[1], facts(5, 0.0)),
    ];
    map.connect(edges[1], hosts[1], facts(20, 0.3));
    World { map, hosts, short, long }
}

fn inner(links: &[LinkId]) -> &[LinkId] {
    &links[1..links.len() - 1]
}

#[test]
fn the_path_with_the_least_delay_is_taken() {
    let World { mut map, hosts: [from, to], short, long } = world(0.25);
    let path = map.shortest(from, to, &Avoid::default()).unwrap();
    assert_eq!((inner(&path.links), path.delay), (&short[..], Duration::from_millis(51)));
    assert_eq!((path.nodes.first(), path.nodes.last(), path.nodes.len()), (Some(&from), Some(&to), 5));
    let line = map.line(&path).unwrap();
    assert_eq!((line.last(), line.hops()[0].loss, line.hops()[1].loss_back), (2, 0.25, 0.0));
    let back = map.shortest(to, from, &Avoid::default()).unwrap();
    let line = map.line(&back).unwrap();
    assert_eq!((line.hops()[1].loss, line.hops()[1].loss_back), (0.0, 0.25), "the other direction");
    map.link(short[1]).is_up = false;
    let path = map.shortest(from, to, &Avoid::default()).unwrap();
    assert_eq!((inner(&path.links), path.delay), (&long[..], Duration::from_millis(55)));
    map.link(long[1]).rate = BitRate::from_bps(999_999);
    let slow = Avoid { link: None, slower_than: BitRate::from_bps(1_000_000) };
    assert_eq!(map.shortest(from, to, &slow), None);
    let avoid = Avoid { link: Some(long[0]), ..Avoid::default() };
    assert_eq!(map.shortest(from, to, &avoid), None);
}

#[test]
fn of_paths_with_the_same_delay_the_one_with_fewer_links_is_taken() {
    let World { mut map, hosts: [from, to], short, long } = world(0.0);
    map.link(short[1]).delay = Duration::from_millis(10);
    let path = map.shortest(from, to, &Avoid::default()).unwrap();
    assert_eq!(inner(&path.links), short);
    map.link(short[1]).delay = Duration::from_nanos(10_000_001);
    let path = map.shortest(from, to, &Avoid::default()).unwrap();
    assert_eq!(inner(&path.links), long);
}

#[test]
fn a_host_forwards_nothing() {
    let mut map = Map::default();
    let [a, b, c] = [Kind::Edge, Kind::Host, Kind::Edge].map(|kind| map.node(kind));
    map.connect(a, b, facts(1, 0.0));
    map.connect(b, c, facts(1, 0.0));
    assert_eq!(map.shortest(a, c, &Avoid::default()), None);
    let path = map.shortest(a, b, &Avoid::default()).unwrap();
    assert_eq!((path.nodes.as_slice(), map.line(&path)), (&[a, b][..], None), "no link between edges");
    let none = map.shortest(a, a, &Avoid::default()).unwrap();
    assert_eq!((none.nodes, none.links.len()), (vec![a], 0));
}

#[test]
fn a_longer_path_is_taken_where_losses_cost_more() {
    for (loss, is_short) in [(0.01, true), (0.25, false)] {
        let World { map, hosts: [from, to], short, long } = world(loss);
        let choice = on_map(&map, from, to, BitRate::from_bps(0), 1, MODEL).unwrap();
        let links = if is_short { &short[..] } else { &long[..] };
        assert_eq!(inner(&choice.path.links), links);
        // 11 ms between the edges; a lost packet costs 15 ms and a round trip of 22 ms, which fails as often again.
        let expected = if is_short { 51.0 + 0.01 * (15.0 + 22.0 / 0.99) } else { 55.0 };
        assert!((choice.mean_delay / 1e6 - expected).abs() < 1e-6, "{}", choice.mean_delay);
    }
}

proptest! {
    /// Beside a search over all paths without repetition.
    #[test]
    fn no_path_is_shorter(links in prop::collection::vec((0usize..6, 0usize..6, 1u64..20), 0..14), hosts in 0usize..8) {
        let mut map = Map::default();
        let kind = |node| if node > 1 && hosts >> (node - 2) & 1 == 1 { Kind::Host } else { Kind::Switch };
        let nodes: Vec<_> = (0..6).map(|node| map.node(kind(node))).collect();
        for &(from, to, ms) in &links {
            map.connect(nodes[from], nodes[to], facts(ms, 0.0));
        }
        let found = map.shortest(nodes[0], nodes[1], &Avoid::default());
        let least = search(&links, &|node| kind(node) == Kind::Host, &mut vec![0], 0);
        prop_assert_eq!(found.as_ref().map(|path| path.delay), least.map(Duration::from_millis));
        if let Some(path) = found {
            let sum: u64 = path.links.iter().map(|link| links[link.0].2).sum();
            prop_assert_eq!(path.delay, Duration::from_millis(sum));
            prop_assert_eq!(path.links.len() + 1, path.nodes.len());
        }
    }
}

fn search(
    links: &[(usize, usize, u64)],
    is_host: &dyn Fn(usize) -> bool,
    way: &mut Vec<usize>,
    so_far: u64,
) -> Option<u64> {
    let here = *way.last()?;
    if here == 1 {
        return Some(so_far);
    }
    if is_host(here) {
        return None;
    }
    let mut best = None;
    for &(a, b, ms) in links {
        let next = if a == here {
            b
        } else if b == here {
            a
        } else {
            continue;
        };
        if way.contains(&next) {
            continue;
        }
        way.push(next);
        let one = search(links, is_host, way, so_far + ms);
        way.pop();
        best = best.into_iter().chain(one).min();
    }
    best
}
