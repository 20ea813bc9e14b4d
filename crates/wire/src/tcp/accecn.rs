//! The option of accurate ECN feedback (RFC 9768 §3.2.3): how many octets came with each mark, modulo 2^24.

use bytes::BufMut;

use crate::Ecn;

const KIND0: u8 = 172;
const KIND1: u8 = 174;
const FIELD: usize = 3;
const MOST_FIELDS: usize = 3;

/// Which counter comes first (table 5). The second is that of CE, the third the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccEcnOrder {
    /// `AccECN0`: ECT(0).
    Ect0First,
    /// `AccECN1`: ECT(1).
    Ect1First,
}

impl AccEcnOrder {
    /// The marks that the fields are about.
    const fn marks(self) -> [Ecn; MOST_FIELDS] {
        match self {
            Self::Ect0First => [Ecn::Capable0, Ecn::Congested, Ecn::Capable1],
            Self::Ect1First => [Ecn::Capable1, Ecn::Congested, Ecn::Capable0],
        }
    }
}

/// The option: none to three counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccEcnOption {
    order: AccEcnOrder,
    len: u8,
    fields: [u32; MOST_FIELDS],
}

impl AccEcnOption {
    /// The values that a counter has.
    pub const CYCLE: u32 = 1 << 24;
    /// Counters that it has at most.
    pub const MOST_FIELDS: usize = MOST_FIELDS;

    /// The option with the first `fields` counters of that order, of the values that `counter` gives, modulo [`Self::CYCLE`].
    pub fn new(order: AccEcnOrder, fields: usize, counter: impl Fn(Ecn) -> u32) -> Self {
        let len = fields.min(MOST_FIELDS);
        let mut option = Self { order, len: len as u8, fields: [0; MOST_FIELDS] };
        for (field, mark) in option.fields.iter_mut().zip(order.marks()).take(len) {
            *field = counter(mark) % Self::CYCLE;
        }
        option
    }

    /// The counters, in the order in which they are written.
    pub fn counters(&self) -> impl Iterator<Item = (Ecn, u32)> {
        self.order.marks().into_iter().zip(self.fields).take(usize::from(self.len))
    }

    /// Bytes of an option with so many counters.
    pub const fn len_of(fields: usize) -> usize {
        2 + FIELD * fields
    }

    pub(super) fn len(&self) -> usize {
        Self::len_of(usize::from(self.len))
    }

    /// One that is written as its fields say; [`None`]: another option, or one with octets besides.
    pub(super) fn parse(option: &[u8]) -> Option<Self> {
        Self::read(option).filter(|found| found.len() == option.len())
    }

    /// RFC 9768 §3.2.3: of another length, "use those whole 3-octet fields that fit within the length and ignore the remainder".
    pub(super) fn read(option: &[u8]) -> Option<Self> {
        let (&[kind, _], fields) = option.split_first_chunk()?;
        let order = match kind {
            KIND0 => AccEcnOrder::Ect0First,
            KIND1 => AccEcnOrder::Ect1First,
            _ => return None,
        };
        let (fields, _) = fields.as_chunks::<FIELD>();
        let mut found = Self { order, len: fields.len().min(MOST_FIELDS) as u8, fields: [0; MOST_FIELDS] };
        for (field, &[high, middle, low]) in found.fields.iter_mut().zip(fields) {
            *field = u32::from_be_bytes([0, high, middle, low]);
        }
        Some(found)
    }

    pub(super) fn emit(&self, at: &mut impl BufMut) {
        let kind = match self.order {
            AccEcnOrder::Ect0First => KIND0,
            AccEcnOrder::Ect1First => KIND1,
        };
        at.put_slice(&[kind, self.len() as u8]);
        for (_, counter) in self.counters() {
            at.put_uint(counter.into(), FIELD);
        }
    }
}
