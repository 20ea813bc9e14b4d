//! What carries a flow.

use handfast_document::{Checked, Problem, Span};

use crate::file::{FlowShape, Word};
use crate::model::{App, Protocol};

/// What carries the flows of a table with this application, if the table says nothing that this cannot do.
pub(super) fn transport(shape: &FlowShape, app: App) -> Checked<Protocol> {
    let Some(given) = &shape.transport else { return Ok(Protocol::Tcp) };
    let Word(protocol) = given.value;
    if !app.uses_tcp() {
        let title = "`app` has a transport of its own";
        return Err(Problem::at(given.span.clone(), title).help("leave out `transport`"));
    }
    if protocol == Protocol::Tcp {
        return Ok(protocol);
    }
    if let Some(kind) = app.dialogue() {
        let title = format!("`{}` runs over TCP, and `transport` says otherwise", kind.name());
        return Err(Problem::at(given.span.clone(), title).help("leave out `transport`"));
    }
    match tcp_only(shape) {
        None => Ok(protocol),
        Some((key, span)) => {
            let title = format!("`{key}` is of flows over TCP, and `transport` says otherwise");
            Err(Problem::at(span, title).help(format!("leave out `{key}`, or `transport`")))
        }
    }
}

/// The first key that only TCP understands.
fn tcp_only(shape: &FlowShape) -> Option<(&'static str, Span)> {
    let keys = [
        ("tcp", shape.tcp.as_ref().map(|value| &value.span)),
        ("reconnect", shape.reconnect.as_ref().map(|value| &value.span)),
        ("connections", shape.connections.as_ref().map(|value| &value.span)),
        ("read_rate", shape.read_rate.as_ref().map(|value| &value.span)),
        ("measure", shape.measure.as_ref().map(|value| &value.span)),
    ];
    keys.into_iter().find_map(|(key, span)| Some((key, span?.clone())))
}
