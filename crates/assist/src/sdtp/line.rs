//! The way of a connection from the sending edge to the receiving edge, as the placement of functions sees it.

use handfast_core::Duration;
use handfast_net::Direction;

/// One link of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// How long a packet takes across it.
    pub delay: Duration,
    /// How likely it loses a packet of data: from 0 up to, but not including, 1.
    pub loss: f64,
    /// How likely it loses a request on the way back.
    pub loss_back: f64,
}

/// Bytes of a full packet: where losses are of bits, that of such a packet counts.
const PACKET: u32 = 1500;

impl Hop {
    /// That of a link, in this direction and in the other one.
    pub fn of(direction: &Direction, back: &Direction) -> Self {
        let loss = |direction: &Direction| {
            direction.losses.iter().fold(0.0, |sum, loss| 1.0 - (1.0 - sum) * (1.0 - loss.mean(PACKET)))
        };
        Self { delay: direction.delay, loss: loss(direction), loss_back: loss(back) }
    }

    /// The same link in the other direction.
    #[must_use]
    pub const fn back(self) -> Self {
        Self { delay: self.delay, loss: self.loss_back, loss_back: self.loss }
    }
}

/// The links from the sending edge, node 0, to the receiving edge, in order. Link i leads from node i to node i + 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    hops: Vec<Hop>,
}

impl Line {
    /// A line of these links; [`None`]: there is none, or a loss is no probability below 1.
    pub fn new(hops: Vec<Hop>) -> Option<Self> {
        let is_valid = |hop: &Hop| [hop.loss, hop.loss_back].iter().all(|loss| (0.0..1.0).contains(loss));
        (!hops.is_empty() && hops.iter().all(is_valid)).then_some(Self { hops })
    }

    /// Its links.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The number of the receiving edge.
    pub fn last(&self) -> usize {
        self.hops.len()
    }

    /// From node `from` to node `to`.
    pub fn delay(&self, from: usize, to: usize) -> Duration {
        self.hops[from..to].iter().map(|hop| hop.delay).sum()
    }

    /// How likely a packet is lost between two nodes.
    pub fn loss(&self, from: usize, to: usize) -> f64 {
        1.0 - self.hops[from..to].iter().map(|hop| 1.0 - hop.loss).product::<f64>()
    }

    /// How likely a request is lost on its way back between two nodes.
    pub fn loss_back(&self, from: usize, to: usize) -> f64 {
        1.0 - self.hops[from..to].iter().map(|hop| 1.0 - hop.loss_back).product::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(ms: u64, loss: f64, loss_back: f64) -> Hop {
        Hop { delay: Duration::from_millis(ms), loss, loss_back }
    }

    #[test]
    fn a_line_adds_delays_and_joins_losses() {
        let line = Line::new(vec![hop(1, 0.5, 0.0), hop(2, 0.25, 0.5), hop(4, 0.0, 0.0)]).unwrap();
        assert_eq!((line.last(), line.hops().len()), (3, 3));
        assert_eq!(
            (line.delay(0, 3), line.delay(1, 2)),
            (Duration::from_millis(7), Duration::from_millis(2))
        );
        let losses = [line.loss(0, 2), line.loss(1, 3), line.loss(2, 2), line.loss_back(0, 3)];
        assert_eq!(losses.map(|loss| (loss * 1_000.0) as u32), [625, 250, 0, 500]);
    }

    #[test]
    fn what_always_loses_is_no_line() {
        for hops in [
            vec![],
            vec![hop(1, 1.0, 0.0)],
            vec![hop(1, 0.0, 1.0)],
            vec![hop(1, -0.1, 0.0)],
            vec![hop(1, f64::NAN, 0.0)],
        ] {
            assert_eq!(Line::new(hops), None);
        }
    }
}
