//! Where functions are placed (`[sdtp]` §II-C), beside a search over all placements.

use handfast_assist::sdtp::line::{Hop, Line};
use handfast_assist::sdtp::placement::{DelayModel, Placement, equalised_loss, every_switch, minimum_delay};
use handfast_core::Duration;
use proptest::prelude::*;

const MODEL: DelayModel = DelayModel { interval: Duration::from_millis(15) };

fn hop(ms: u64, loss: f64) -> Hop {
    Hop { delay: Duration::from_millis(ms), loss, loss_back: loss }
}

fn line(hops: impl IntoIterator<Item = (u64, f64)>) -> Line {
    Line::new(hops.into_iter().map(|(ms, loss)| hop(ms, loss)).collect()).unwrap()
}

fn nodes(placement: &Placement) -> (Vec<usize>, Vec<usize>) {
    (placement.caching().collect(), placement.retransmitting().collect())
}

/// Figure 5: five switches, 5 ms and the same loss between them; retransmission in the middle.
#[test]
fn on_the_papers_line_the_middle_switch_retransmits() {
    let line = line([(5, 0.0125); 4]);
    let placement = equalised_loss(&line, 2, 0.0);
    assert_eq!(nodes(&placement), (vec![0, 1, 2, 3, 4], vec![2, 4]));
    assert_eq!((placement.segments(), placement.functions()), (vec![0..2, 2..4], 4));
}

#[test]
fn caches_are_before_the_links_that_lose_much() {
    let line = line([(5, 0.0), (5, 0.02), (5, 0.001), (5, 0.0), (5, 0.021), (5, 0.0)]);
    assert_eq!(nodes(&equalised_loss(&line, 2, 0.0)), (vec![0, 1, 2, 4, 6], vec![4, 6]));
    assert_eq!(nodes(&equalised_loss(&line, 2, 0.01)), (vec![0, 1, 4, 6], vec![4, 6]));
    assert_eq!(
        nodes(&equalised_loss(&line, 9, 0.01)),
        (vec![0, 1, 4, 6], vec![1, 4, 6]),
        "there are no more"
    );
    assert_eq!(nodes(&equalised_loss(&line, 0, 0.5)), (vec![0, 6], vec![6]));
    assert_eq!(nodes(&every_switch(&line, 2)), ((0..=6).collect(), vec![4, 6]));
}

/// The best segment loses as much as it can where the worst is the same.
#[test]
fn of_divisions_with_the_same_worst_segment_the_most_even_counts() {
    let line = line([(1, 0.5), (1, 0.01), (1, 0.01), (1, 0.01), (1, 0.01)]);
    assert_eq!(equalised_loss(&line, 3, 0.0).segments(), [0..1, 1..3, 3..5]);
}

#[test]
fn without_functions_between_the_edges_the_sending_edge_repairs_all() {
    let line = Line::new(vec![
        Hop { delay: Duration::from_millis(5), loss: 0.5, loss_back: 0.0 },
        Hop { delay: Duration::from_millis(10), loss: 0.0, loss_back: 0.5 },
    ]);
    let line = line.unwrap();
    let placement = minimum_delay(&line, 0, MODEL);
    assert_eq!(nodes(&placement), (vec![0, 2], vec![2]));
    // 15 ms, and for each second packet 15 ms and a round trip of 30 ms, which fails three times of four.
    assert_eq!(MODEL.mean_delay(&line, &placement) as u64, 15_000_000 + 67_500_000);
}

#[test]
fn a_cache_before_a_lossy_link_far_away_is_the_first_to_pay() {
    let line = line([(50, 0.0), (5, 0.1), (5, 0.0), (50, 0.0)]);
    assert_eq!(nodes(&minimum_delay(&line, 1, MODEL)), (vec![0, 1, 4], vec![4]));
    assert_eq!(nodes(&minimum_delay(&line, 3, MODEL)), (vec![0, 1, 2, 4], vec![2, 4]));
    assert_eq!(minimum_delay(&line, 99, MODEL), minimum_delay(&line, 3, MODEL), "more is of no use");
}

/// All placements on a line.
fn all(last: usize) -> impl Iterator<Item = Placement> {
    (0..3usize.pow(last as u32 - 1)).map(move |code| {
        let role = |node: usize| code / 3usize.pow(node as u32 - 1) % 3;
        let with = |least: usize| (1..last).filter(move |&node| role(node) >= least);
        Placement::new(last, with(1), with(2))
    })
}

/// How often the busiest segment must ask.
fn worst(line: &Line, placement: &Placement) -> f64 {
    placement.segments().iter().map(|part| line.loss(part.start, part.end)).fold(0.0, f64::max)
}

fn any_line() -> impl Strategy<Value = Line> {
    let loss = prop_oneof![1 => Just(0.0), 3 => 0.000_1f64..0.2];
    let hop = (1u64..40, loss.clone(), loss).prop_map(|(ms, loss, loss_back)| Hop {
        delay: Duration::from_millis(ms),
        loss,
        loss_back,
    });
    prop::collection::vec(hop, 1..8).prop_map(|hops| Line::new(hops).unwrap())
}

proptest! {
    /// Claim sdtp-ep: within 1.2 of the best that is feasible. It is the best.
    #[test]
    fn no_division_has_a_better_worst_segment(line in any_line(), segments in 1usize..5) {
        let placement = equalised_loss(&line, segments, 0.0);
        let feasible = all(line.last()).filter(|one| one.segments().len() <= segments);
        let best = feasible.map(|one| worst(&line, &one)).fold(1.0, f64::min);
        prop_assert!(placement.segments().len() <= segments);
        prop_assert!(worst(&line, &placement) <= best * (1.0 + 1e-9), "{} of {}", worst(&line, &placement), best);
    }

    #[test]
    fn no_placement_within_the_budget_has_a_lower_mean_delay(line in any_line(), budget in 0usize..14) {
        let placement = minimum_delay(&line, budget, MODEL);
        prop_assert!(placement.functions() <= budget);
        let delay = |placement: &Placement| MODEL.mean_delay(&line, placement);
        let feasible = all(line.last()).filter(|one| one.functions() <= budget);
        let best = feasible.map(|one| delay(&one)).fold(f64::INFINITY, f64::min);
        prop_assert!(delay(&placement) <= best * (1.0 + 1e-9), "{} of {}", delay(&placement), best);
    }

    /// §II-C: the retransmission node of a segment is a cache of the next; the edges have what the basic policy says.
    #[test]
    fn every_placement_is_valid(line in any_line(), segments in 1usize..5, budget in 0usize..14) {
        for placement in [
            equalised_loss(&line, segments, 0.0),
            minimum_delay(&line, budget, MODEL),
            every_switch(&line, segments),
        ] {
            let (caching, retransmitting) = nodes(&placement);
            prop_assert!(caching.starts_with(&[0]) && retransmitting.ends_with(&[line.last()]));
            prop_assert!(retransmitting.iter().all(|node| caching.contains(node)), "{:?}", placement);
            let ends: Vec<_> = placement.segments().iter().map(|part| part.end).collect();
            prop_assert_eq!(ends, retransmitting);
        }
    }
}
