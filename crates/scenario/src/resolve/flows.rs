//! Flows.

use handfast_core::{Duration, Instant};

use super::moment;
use super::names::Names;
use super::nodes::Nodes;
use super::transport::transport;
use crate::file::{AppKind, FlowShape, FlowTable, Located, MeasureKind};
use crate::model::{App, Flow, Measures, NodeId, Protocol, Scheme};
use handfast_document::{Checked, Problem, Span};

/// The flows so far.
pub(super) struct Flows {
    pub(super) list: Vec<Flow>,
    /// Where each was declared.
    pub(super) spans: Vec<Span>,
    /// The schemes that tables of flows name.
    tcp: Vec<Located<String>>,
    names: Names,
    /// How many connections the flows have at once, all together.
    connections: usize,
    pub(super) duration: Duration,
}

/// What the flows of one table have in common.
pub(super) struct Pattern {
    app: App,
    transport: Protocol,
    start: Duration,
    stagger: Duration,
    jitter: Duration,
    stop: Option<Instant>,
    read_rate: Option<handfast_core::BitRate>,
    tcp: Option<Located<String>>,
    connections: u32,
    measure: Measures,
    span: Span,
}

impl Flows {
    const MOST: usize = 100_000;
    /// Connections of one flow, as iperf3 has it.
    const MOST_CONNECTIONS: usize = 128;

    pub(super) fn new(duration: Duration) -> Self {
        let names = Names::new("flow");
        Self { list: Vec::new(), spans: Vec::new(), tcp: Vec::new(), names, connections: 0, duration }
    }

    pub(super) fn of_file(tables: &[FlowTable], nodes: &Nodes, duration: Duration) -> Checked<Self> {
        let mut flows = Self::new(duration);
        for table in tables {
            flows.add_table(table, nodes)?;
        }
        Ok(flows)
    }

    /// Adds all of `more` after these.
    pub(super) fn append(&mut self, more: Self) -> Checked<()> {
        if self.list.is_empty() {
            *self = more;
            return Ok(());
        }
        self.tcp.extend(more.tcp);
        for (flow, span) in more.list.into_iter().zip(more.spans) {
            self.check_room(flow.connections, &span)?;
            self.chosen(&flow.name, &span)?;
            self.list.push(flow);
            self.spans.push(span);
        }
        Ok(())
    }

    /// One more flow has room, with so many connections.
    fn check_room(&mut self, connections: u32, span: &Span) -> Checked<()> {
        self.connections += connections as usize;
        let too_many = [(self.list.len() + 1, "flows"), (self.connections, "connections")];
        match too_many.into_iter().find(|&(count, _)| count > Self::MOST) {
            Some((_, what)) => Err(Problem::at(span.clone(), format!("more than {} {what}", Self::MOST))),
            None => Ok(()),
        }
    }

    /// Every scheme that a flow names is among these.
    pub(super) fn check_schemes(&self, schemes: &[Scheme]) -> Checked<()> {
        let known = |name: &str| schemes.iter().any(|scheme| scheme.name == name);
        match self.tcp.iter().find(|tcp| !known(&tcp.value)) {
            None => Ok(()),
            Some(tcp) => {
                let title =
                    format!("there is no scheme and no profile called `{}`", tcp.value.escape_debug());
                let names = schemes.iter().map(|scheme| scheme.name.as_str());
                Err(Problem::at(tcp.span.clone(), title).nearest(&tcp.value, names))
            }
        }
    }

    fn add_table(&mut self, table: &FlowTable, nodes: &Nodes) -> Checked<()> {
        let (from, to) = (nodes.find_host(&table.from)?, nodes.find_host(&table.to)?);
        if from == to {
            let title = format!("a flow from `{}` to itself", table.from.value);
            return Err(Problem::at(table.to.span.clone(), title));
        }
        let pattern = self.pattern(&table.shape(), &table.from.span)?;
        let count = count(table.count.as_ref(), Self::MOST)?;
        for k in 0..count {
            let name = match &table.name {
                Some(name) if count == 1 => self.chosen(name, &name.span)?,
                Some(name) => self.chosen(&format!("{}-{}", name.value.0, k + 1), &name.span)?,
                None => {
                    let stem = format!("{}-{}", table.from.value, table.to.value);
                    self.names.insert_numbered(&stem, self.list.len(), &table.from.span)?
                }
            };
            self.push(name, [from, to], &pattern, k)?;
        }
        Ok(())
    }

    /// What a table says of its flows; `span` is where it stands.
    pub(super) fn pattern(&self, shape: &FlowShape, span: &Span) -> Checked<Pattern> {
        let start = match &shape.start {
            Some(start) => moment(start, self.duration, "the flow starts")?.since(Instant::ZERO),
            None => Duration::ZERO,
        };
        if let Some(kind) = of_shape(shape).dialogue() {
            one_way_only(shape, kind.name())?;
        }
        Ok(Pattern {
            app: app(shape, span)?,
            transport: transport(shape, of_shape(shape))?,
            start,
            stagger: shape.stagger.map_or(Duration::ZERO, |span| span.0),
            jitter: shape.jitter.map_or(Duration::ZERO, |span| span.0),
            stop: shape.stop.as_ref().map(|stop| self.stop(stop, start)).transpose()?,
            read_rate: shape.read_rate.as_ref().map(|rate| rate.value.0),
            tcp: shape.tcp.clone(),
            connections: connections(shape)?,
            measure: measures(shape)?,
            span: span.clone(),
        })
    }

    fn stop(&self, stop: &Located<crate::file::TimeSpan>, start: Duration) -> Checked<Instant> {
        if stop.value.0 <= start {
            let problem = Problem::at(stop.span.clone(), "the flow stops before it starts");
            return Err(problem.expected(format!("expected more than `start`, {start}")));
        }
        moment(stop, self.duration, "the flow stops")
    }

    fn chosen(&mut self, name: &str, span: &Span) -> Checked<String> {
        self.names.insert(name, self.list.len(), span)?;
        Ok(name.to_owned())
    }

    /// Adds flow number `k`, counted from 0, of those that share `pattern`; its name must not be taken.
    pub(super) fn add(&mut self, name: &str, ends: [NodeId; 2], pattern: &Pattern, k: u32) -> Checked<()> {
        let name = self.chosen(name, &pattern.span)?;
        self.push(name, ends, pattern, k)
    }

    fn push(&mut self, name: String, [from, to]: [NodeId; 2], pattern: &Pattern, k: u32) -> Checked<()> {
        let problem = |title: String| Err(Problem::at(pattern.span.clone(), title));
        self.check_room(pattern.connections, &pattern.span)?;
        let start = pattern.start + pattern.stagger * u64::from(k);
        let last_start = start + pattern.jitter;
        let end = pattern.stop.map_or(self.duration, |stop| stop.since(Instant::ZERO));
        if last_start >= end {
            return problem(format!(
                "with `stagger` and `jitter`, flow `{name}` may start at {last_start}: after its end, {end}"
            ));
        }
        self.list.push(Flow {
            name,
            from,
            to,
            app: pattern.app,
            transport: pattern.transport,
            start: Instant::ZERO + start,
            start_jitter: pattern.jitter,
            stop: pattern.stop,
            read_rate: pattern.read_rate,
            tcp: pattern.tcp.as_ref().map(|tcp| tcp.value.clone()),
            connections: pattern.connections,
            measure: pattern.measure,
        });
        self.tcp.extend(pattern.tcp.clone());
        self.spans.push(pattern.span.clone());
        Ok(())
    }
}

/// What the flows of a table do.
pub(super) fn of_shape(shape: &FlowShape) -> App {
    shape.app.map_or(App::Bulk, AppKind::app)
}

/// Refuses keys that only applications understand of which one end sends.
fn one_way_only(shape: &FlowShape, name: &str) -> Checked<()> {
    let keys = [
        ("reconnect", shape.reconnect.as_ref().map(|value| &value.span)),
        ("connections", shape.connections.as_ref().map(|value| &value.span)),
        ("read_rate", shape.read_rate.as_ref().map(|value| &value.span)),
        ("measure", shape.measure.as_ref().map(|value| &value.span)),
    ];
    match keys.into_iter().find_map(|(key, span)| Some((key, span?.clone()))) {
        None => Ok(()),
        Some((key, span)) => {
            let title = format!(
                "`{key}` is of applications of which one end sends, and `{name}` asks and is answered"
            );
            Err(Problem::at(span, title).help(format!("leave out `{key}`")))
        }
    }
}

fn app(shape: &FlowShape, span: &Span) -> Checked<App> {
    let app = of_shape(shape);
    let app = match &shape.reconnect {
        None => app,
        Some(after) => app.reconnecting(after.value.0).ok_or_else(|| {
            Problem::at(after.span.clone(), "only `app = \"bulk\"` and transfers can `reconnect`")
        })?,
    };
    app.check().map_err(|why| Problem::at(span.clone(), format!("the flow {why}")))?;
    Ok(app)
}

/// How many connections a flow has at once.
fn connections(shape: &FlowShape) -> Checked<u32> {
    let given = shape.connections.as_ref();
    let app = of_shape(shape);
    if let Some(given) = given.filter(|_| !app.can_be_shared()) {
        let title = "only `app = \"bulk\"`, `\"silent\"` and transfers have `connections`";
        return Err(Problem::at(given.span.clone(), title));
    }
    match app.dialogue() {
        Some(kind) => Ok(kind.connections()),
        None => count(given, Flows::MOST_CONNECTIONS),
    }
}

/// What is measured of a flow where it asks for it.
fn measures(shape: &FlowShape) -> Checked<Measures> {
    let Some(given) = &shape.measure else { return Ok(Measures::default()) };
    let app = of_shape(shape);
    if app.uses_tcp() {
        return Ok(MeasureKind::measures(&given.value));
    }
    let problem = Problem::at(given.span.clone(), "only flows over TCP can `measure`");
    Err(problem.expected("expected no `measure`: a flow of datagrams has figures of its own"))
}

/// How many of something a table asks for: 1 to `most`, 1 where it does not say.
pub(super) fn count(given: Option<&Located<u32>>, most: usize) -> Checked<u32> {
    let Some(given) = given else { return Ok(1) };
    let right = (1..=most).contains(&(given.value as usize));
    let problem = || Problem::at(given.span.clone(), format!("expected a number from 1 to {most}"));
    if right { Ok(given.value) } else { Err(problem()) }
}
