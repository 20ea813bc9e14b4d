//! Links.

use handfast_net::{Direction, QueueLimit};

use super::names::Names;
use super::nodes::Nodes;
use crate::file::{LinkShape, LinkTable, Located};
use crate::model::{Link, LinkId};
use handfast_document::{Checked, Problem, Span};

/// What Linux interfaces have (txqueuelen).
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(1000);

/// The links so far.
pub(super) struct Links {
    pub(super) list: Vec<Link>,
    /// Where each was declared.
    spans: Vec<Span>,
    names: Names,
}

impl Links {
    const MOST: usize = 400_000;

    pub(super) fn new() -> Self {
        Self { list: Vec::new(), spans: Vec::new(), names: Names::new("link") }
    }

    pub(super) fn of_file(tables: &[LinkTable], nodes: &Nodes) -> Checked<Self> {
        let mut links = Self::new();
        for table in tables {
            links.add_table(table, nodes)?;
        }
        Ok(links)
    }

    fn add_table(&mut self, table: &LinkTable, nodes: &Nodes) -> Checked<()> {
        let [a, b] = &table.between.value.0;
        let between = [nodes.find_linked(a)?, nodes.find_linked(b)?];
        if between[0] == between[1] {
            return Err(Problem::at(
                table.between.span.clone(),
                format!("a link from `{}` to itself", a.value),
            ));
        }
        let both = table.shape();
        let forward = direction(&[&table.forward, &both], &table.between.span, "forward")?;
        let backward = direction(&[&table.backward, &both], &table.between.span, "backward")?;
        if let Some(name) = &table.name {
            return self.add(Link { name: name.to_string(), between, forward, backward }, &name.span);
        }
        let stem = format!("{}-{}", a.value, b.value);
        let name = self.names.insert_numbered(&stem, self.list.len(), &table.between.span)?;
        self.push(Link { name, between, forward, backward }, &table.between.span)
    }

    /// Adds a link whose name must not be taken.
    pub(super) fn add(&mut self, link: Link, span: &Span) -> Checked<()> {
        self.names.insert(&link.name, self.list.len(), span)?;
        self.push(link, span)
    }

    /// Adds all of `more` after these.
    pub(super) fn append(&mut self, more: Self) -> Checked<()> {
        more.list.into_iter().zip(more.spans).try_for_each(|(link, span)| self.add(link, &span))
    }

    fn push(&mut self, link: Link, span: &Span) -> Checked<()> {
        if self.list.len() >= Self::MOST {
            return Err(Problem::at(span.clone(), format!("more than {} links", Self::MOST)));
        }
        self.list.push(link);
        self.spans.push(span.clone());
        Ok(())
    }

    pub(super) fn find(&self, name: &Located<String>) -> Checked<LinkId> {
        self.names.find(name)
    }
}

/// One direction of a link: of each key the first of `shapes` that has it; `span` is where the link stands.
pub(super) fn direction(shapes: &[&LinkShape], span: &Span, way: &str) -> Checked<Direction> {
    let missing = |key: &str| {
        let problem =
            Problem::at(span.clone(), format!("the link has no `{key}`")).expected(format!("needs `{key}`"));
        // A list of shapes means that a direction can have its own.
        if shapes.len() > 1 {
            problem.help(format!("give `{key}` for both directions, or in `{way}`"))
        } else {
            problem
        }
    };
    let rate = shapes.iter().find_map(|shape| shape.rate).ok_or_else(|| missing("rate"))?;
    let delay = shapes.iter().find_map(|shape| shape.delay).ok_or_else(|| missing("delay"))?;
    let queue = shapes.iter().find_map(|shape| shape.queue);
    let losses = shapes.iter().find_map(|shape| shape.loss.clone());
    let reorder = shapes.iter().find_map(|shape| shape.reorder);
    let duplicate = shapes.iter().find_map(|shape| shape.duplicate);
    Ok(Direction {
        rate: rate.0,
        delay: delay.0,
        queue: queue.map_or(Some(DEFAULT_QUEUE), |queue| queue.0),
        losses: losses.map_or_else(Vec::new, |losses| losses.0),
        reorder: reorder.map(|reorder| (reorder.probability.0, reorder.by.0)),
        duplicate: duplicate.map_or(0.0, |p| p.0),
    })
}
