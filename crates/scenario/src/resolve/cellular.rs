//! What the file says of the cellular radio of a link.

use handfast_document::Located;

use crate::file::{Access, LinkShape};
use crate::model::LinkId;

/// A link with a cellular radio.
pub(super) struct Cellular {
    pub(super) link: LinkId,
    /// Of each direction: what the file says of its radio, and whether it says something of its queue.
    pub(super) directions: [(Option<Located<Access>>, bool); 2],
}

impl Cellular {
    /// The first of the shapes of each direction that says a thing decides it; [`None`]: none has a radio.
    pub(super) fn of(link: LinkId, shapes: [&[&LinkShape]; 2]) -> Option<Self> {
        let directions = shapes.map(|shapes| {
            let access = shapes.iter().find_map(|shape| shape.access.clone());
            (access, shapes.iter().any(|shape| shape.queue.is_some()))
        });
        directions.iter().any(|(access, _)| access.is_some()).then_some(Self { link, directions })
    }
}
