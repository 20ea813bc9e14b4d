//! What a data sender reads out of feedback: packets that came marked (RFC 9768 §3.2.2.5.2, §3.2.3.3, appendix A).

use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::AccEcnOption;

use super::ace::{CYCLE, FIRST};
use super::first_octets;

/// The prevailing number of packets that an acknowledgement brings: its unit, its gain, and from where ACKs count as thinned.
const UNIT: u32 = 6;
const GAIN: u32 = 6;
const THINNED: u64 = 4;

/// What an acknowledgement delivers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckWord {
    pub(crate) packets: u64,
    pub(crate) octets: u64,
    pub(crate) smss: u64,
    /// The number of packets is exact: SACK tells it, or nothing is lost.
    pub(crate) is_sure: bool,
    /// Octets sent before.
    pub(crate) sent: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    /// `s.cep`, without what it begins with.
    packets: u64,
    /// `s.e1b`, `s.e0b` and `s.ceb`, by mark; 24 bits come, the rest follows.
    octets: [u32; 4],
    /// The only counter that the last option has changed: acknowledgements without one go on with it.
    estimate: Option<Mark>,
    thinning: u64,
}

impl Delivered {
    pub(super) fn count_syn_ack(&mut self, is_marked: bool) {
        if self.packets == 0 {
            self.packets = u64::from(is_marked);
        }
    }

    /// How many packets were marked. `counts`: the option is to be trusted, if it is there.
    pub(super) fn on_ack(
        &mut self,
        ace: u64,
        option: Option<AccEcnOption>,
        counts: bool,
        word: &AckWord,
    ) -> u64 {
        let before = self.octets[Mark::Congested as usize];
        let is_valid = match option {
            Some(option) => self.read(option),
            None => counts && self.go_on(word.octets),
        };
        let marked_octets =
            is_valid.then(|| u64::from(self.octets[Mark::Congested as usize].wrapping_sub(before)));
        self.note_thinning(word.packets);
        let told = FIRST + self.packets;
        let least = ace.wrapping_sub(told) % CYCLE;
        let marked = if word.packets < CYCLE { least } else { self.likely(least, marked_octets, word) };
        self.packets += marked;
        marked
    }

    /// Whether one counter alone has grown, so that what it says can be told from the next.
    fn read(&mut self, option: AccEcnOption) -> bool {
        let expected = self.estimate;
        let (mut changed, mut is_ambiguous) = (false, false);
        for (mark, counter) in option.counters() {
            let own = &mut self.octets[mark as usize];
            let step = counter.wrapping_sub(first_octets(mark)).wrapping_sub(*own) % AccEcnOption::CYCLE;
            let falls = step >= AccEcnOption::CYCLE / 2;
            *own = own.wrapping_add(if falls { step.wrapping_sub(AccEcnOption::CYCLE) } else { step });
            is_ambiguous |= falls || step > 0 && expected != Some(mark) && changed;
            if step > 0 && expected != Some(mark) && !changed {
                (self.estimate, changed) = (Some(mark), true);
            }
        }
        if is_ambiguous {
            self.estimate = None;
        }
        expected.is_some() && !is_ambiguous
    }

    /// An acknowledgement without the option: what it delivers came as what went before.
    fn go_on(&mut self, octets: u64) -> bool {
        let Some(mark) = self.estimate else { return false };
        let own = &mut self.octets[mark as usize];
        *own = own.wrapping_add(octets as u32);
        true
    }

    pub(super) fn note_thinning(&mut self, packets: u64) {
        let sample = packets << UNIT;
        if packets > 0 && self.thinning == 0 {
            self.thinning = sample;
        } else if packets > 0 {
            self.thinning = ((self.thinning << GAIN) - self.thinning + sample) >> GAIN;
        }
        self.thinning = self.thinning.min(u64::from(u16::MAX));
    }

    /// §3.2.2.5.2: the field may have gone round. Appendix A.2: `dSafer.cep`, the most that fits, unless the counter of marked octets or
    /// the usual size of acknowledgements says otherwise.
    fn likely(&self, least: u64, marked_octets: Option<u64>, word: &AckWord) -> u64 {
        let most = word.packets - word.packets.wrapping_sub(least) % CYCLE;
        match marked_octets {
            Some(0) => least,
            Some(octets) => of_octets(least, most, octets, word),
            None if self.thinning > THINNED << UNIT => least,
            None => most,
        }
    }

    /// Packets, and octets of ECT(1), ECT(0) and CE.
    pub(super) fn report(&self) -> (u64, [u32; 3]) {
        (
            self.packets,
            [Mark::Capable1, Mark::Capable0, Mark::Congested].map(|mark| self.octets[mark as usize]),
        )
    }
}

/// Appendix A.2 and A.3: which of `least` and `most` so many marked octets fit.
fn of_octets(least: u64, most: u64, octets: u64, word: &AckWord) -> u64 {
    if word.packets >= 2 * CYCLE && word.is_sure {
        if word.octets <= octets {
            return most;
        }
        let estimate = (octets * word.packets).div_ceil(word.octets);
        return most.min(least + estimate / CYCLE * CYCLE);
    }
    // "the average marked packet is larger than a full one", and the same for `most` with a margin of two.
    if octets > least * word.smss || octets >= (most * word.smss) >> 1 { most } else { least }
}
