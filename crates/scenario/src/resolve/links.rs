//! Links.

use std::collections::{BTreeMap, BTreeSet};

use handfast_net::queue::drop_tail;
use handfast_net::trace::Way;
use handfast_net::{Direction, Queue};

use super::cellular::Cellular;
use super::names::Names;
use super::nodes::Nodes;
use super::queue;
use super::standard::fastest;
use super::traces::Traces;
use crate::file::{AirTable, LinkShape, LinkTable, Located};
use crate::model::{Directions, Link, LinkId, LinkTrace, NodeId};
use handfast_document::{Checked, Problem, Span};

/// The links so far.
pub(super) struct Links {
    pub(super) list: Vec<Link>,
    /// Where each was declared.
    spans: Vec<Span>,
    names: Names,
    /// Those on the air, by number.
    pub(super) on_air: Vec<OnAir>,
    /// Those with a cellular radio, by number.
    pub(super) cellular: Vec<Cellular>,
    /// The directions that follow a trace.
    pub(super) traced: BTreeMap<(LinkId, usize), LinkTrace>,
    traces: Traces,
}

/// A link on the air.
pub(super) struct OnAir {
    pub(super) link: LinkId,
    /// What the file says of it.
    pub(super) table: Located<AirTable>,
    /// Where the file says something of each direction.
    pub(super) said: [Said; 2],
}

/// Where the file gives a direction of a link what the air limits; [`None`]: nowhere.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) rate: Option<Span>,
    pub(super) queue: Option<Span>,
}

impl Said {
    /// The first of `shapes` that says a thing decides it.
    fn of(shapes: &[&LinkShape]) -> Self {
        let rate = shapes.iter().find_map(|shape| shape.rate.as_ref());
        let queue = shapes.iter().find_map(|shape| shape.queue.as_ref());
        Self { rate: rate.map(|at| at.span.clone()), queue: queue.map(|at| at.span.clone()) }
    }
}

impl Links {
    const MOST: usize = 400_000;

    /// `traces`: what was read of those that links follow.
    pub(super) fn new(traces: Traces) -> Self {
        Self {
            list: Vec::new(),
            spans: Vec::new(),
            names: Names::new("link"),
            on_air: Vec::new(),
            cellular: Vec::new(),
            traced: BTreeMap::new(),
            traces,
        }
    }

    pub(super) fn of_file(tables: &[LinkTable], nodes: &Nodes, traces: Traces) -> Checked<Self> {
        let mut links = Self::new(traces);
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
        let air = table.air.as_ref();
        let shapes = [[&table.forward, &both], [&table.backward, &both]];
        let traces = self.follow(&shapes, air)?;
        let forward = direction(&shapes[0], &table.between.span, "forward", air, traces[0].as_ref())?;
        let backward = direction(&shapes[1], &table.between.span, "backward", air, traces[1].as_ref())?;
        if let Some(air) = air {
            self.put_on_air(air, shapes.map(|shapes| Said::of(&shapes)));
        }
        self.cellular.extend(Cellular::of(self.list.len(), [&shapes[0], &shapes[1]]));
        if let Some(name) = &table.name {
            return self.add(Link { name: name.to_string(), between, forward, backward }, &name.span);
        }
        let stem = format!("{}-{}", a.value, b.value);
        let name = self.names.insert_numbered(&stem, self.list.len(), &table.between.span)?;
        self.push(Link { name, between, forward, backward }, &table.between.span)
    }

    /// Adds a link with the same shape both ways, whose name must not be taken.
    pub(super) fn add_alike(
        &mut self,
        name: String,
        between: [NodeId; 2],
        shape: &Located<LinkShape>,
        air: Option<&Located<AirTable>>,
    ) -> Checked<()> {
        let shapes = [[&shape.value]; 2];
        let [there, back] = self.follow(&shapes, air)?;
        let forward = direction(&shapes[0], &shape.span, "forward", air, there.as_ref())?;
        let backward = direction(&shapes[1], &shape.span, "backward", air, back.as_ref())?;
        if let Some(air) = air {
            let said = Said::of(&[&shape.value]);
            self.put_on_air(air, [said.clone(), said]);
        }
        self.cellular.extend(Cellular::of(self.list.len(), [&[&shape.value]; 2]));
        self.add(Link { name, between, forward, backward }, &shape.span)
    }

    /// The files that links follow.
    pub(super) fn trace_files(&self) -> BTreeSet<String> {
        self.traces.files()
    }

    /// What was read of traces, for links that are made elsewhere.
    pub(super) fn take_traces(&mut self) -> Traces {
        std::mem::take(&mut self.traces)
    }

    /// What the directions of the next link follow.
    fn follow<const N: usize>(
        &mut self,
        shapes: &[[&LinkShape; N]; 2],
        air: Option<&Located<AirTable>>,
    ) -> Checked<[Option<LinkTrace>; 2]> {
        let mut traces = [None, None];
        for (end, way) in [Way::Down, Way::Up].into_iter().enumerate() {
            let Some(table) = shapes[end].iter().find_map(|shape| shape.trace.as_ref()) else { continue };
            if air.is_some() {
                let title = "a link on the air follows no trace";
                return Err(Problem::at(table.span.clone(), title).help("leave out `air`, or `trace`"));
            }
            let trace = self.traces.resolve(table, way)?;
            self.traced.insert((self.list.len(), end), trace.clone());
            traces[end] = Some(trace);
        }
        Ok(traces)
    }

    /// Whether one of these directions of a link follows a trace of which `says` is true, of a thing that then does not change by
    /// events.
    pub(super) fn is_traced(
        &self,
        link: LinkId,
        directions: Directions,
        says: impl Fn(&LinkTrace) -> bool,
    ) -> bool {
        let ends = match directions {
            Directions::Both => 0..=1,
            Directions::Forward => 0..=0,
            Directions::Backward => 1..=1,
        };
        ends.filter_map(|end| self.traced.get(&(link, end))).any(says)
    }

    /// The next link is on the air.
    fn put_on_air(&mut self, table: &Located<AirTable>, said: [Said; 2]) {
        self.on_air.push(OnAir { link: self.list.len(), table: table.clone(), said });
    }

    /// Whether a link is on the air.
    pub(super) fn is_on_air(&self, link: LinkId) -> bool {
        self.on_air.binary_search_by_key(&link, |on_air| on_air.link).is_ok()
    }

    /// Where a link was declared.
    pub(super) fn span(&self, link: LinkId) -> &Span {
        &self.spans[link]
    }

    /// Adds a link whose name must not be taken.
    pub(super) fn add(&mut self, link: Link, span: &Span) -> Checked<()> {
        self.names.insert(&link.name, self.list.len(), span)?;
        self.push(link, span)
    }

    /// Adds all of `more` after these.
    pub(super) fn append(&mut self, more: Self) -> Checked<()> {
        if self.list.is_empty() {
            *self = more;
            return Ok(());
        }
        let before = self.list.len();
        self.traced.extend(more.traced.into_iter().map(|((link, end), trace)| ((before + link, end), trace)));
        self.on_air
            .extend(more.on_air.into_iter().map(|on_air| OnAir { link: before + on_air.link, ..on_air }));
        let cellular = more.cellular.into_iter();
        self.cellular.extend(cellular.map(|radio| Cellular { link: before + radio.link, ..radio }));
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

/// One direction of a link: of each key the first of `shapes` that has it; `span` is where the link stands. On the air the rate
/// is by default the fastest that there is. A trace says what it says in place of them.
fn direction(
    shapes: &[&LinkShape],
    span: &Span,
    direction: &str,
    air: Option<&Located<AirTable>>,
    trace: Option<&LinkTrace>,
) -> Checked<Direction> {
    let missing = |key: &str| {
        let problem =
            Problem::at(span.clone(), format!("the link has no `{key}`")).expected(format!("needs `{key}`"));
        // A list of shapes means that a direction can have its own.
        if shapes.len() > 1 {
            problem.help(format!("give `{key}` for both directions, or in `{direction}`"))
        } else {
            problem
        }
    };
    let rate = shapes.iter().find_map(|shape| shape.rate.as_ref().map(|rate| rate.value.0));
    let rate = trace.and_then(LinkTrace::usual_rate).or(rate).or(air.map(|air| fastest(&air.value)));
    let rate = rate.ok_or_else(|| missing("rate"))?;
    let delay = shapes.iter().find_map(|shape| shape.delay).map(|delay| delay.0);
    let delay = trace.and_then(LinkTrace::usual_delay).or(delay).ok_or_else(|| missing("delay"))?;
    let queue = match shapes.iter().find_map(|shape| shape.queue.as_ref()) {
        Some(said) => queue::resolve(said)?,
        None => Queue::DropTail(drop_tail::Config::default()),
    };
    let losses = shapes.iter().find_map(|shape| shape.loss.clone());
    let reorder = shapes.iter().find_map(|shape| shape.reorder);
    let duplicate = shapes.iter().find_map(|shape| shape.duplicate);
    Ok(Direction {
        rate,
        delay,
        queue,
        losses: losses.map_or_else(Vec::new, |losses| losses.0),
        reorder: reorder.map(|reorder| (reorder.probability.0, reorder.by.0)),
        duplicate: duplicate.map_or(0.0, |p| p.0),
        access: None,
    })
}
