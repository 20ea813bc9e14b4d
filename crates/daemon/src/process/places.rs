//! Where a service is reached, as a configuration says it: TCP addresses and paths of Unix sockets. Which table is its own.

use std::net::{IpAddr, SocketAddr};

use handfast_document::{Checked, Located, Problem, Span, Table, problem};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// `sun_path` has 108 bytes, the last of which is zero (unix(7)).
const LONGEST_PATH: usize = 107;

/// A service's table in the document.
pub(crate) fn table_of<'i>(mut document: Spanned<DeTable<'i>>, name: &str) -> Checked<Spanned<DeTable<'i>>> {
    let Some((_, value)) = document.get_mut().remove_entry(name) else {
        return Err(Problem::at(0..0, format!("there is no table [{name}]")));
    };
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok(Spanned::new(span, table)),
        _ => Err(Problem::at(span, format!("`{name}` is no table"))),
    }
}

/// What a table says, and where it stands: that is where a key is missing.
pub(crate) fn keys_of<T: Table>(table: Spanned<DeTable<'_>>) -> Checked<(T, Span)> {
    let span = table.span();
    let keys = T::deserialize(toml::Deserializer::from(table)).map_err(|error| problem(&error, &[]))?;
    Ok((keys, span))
}

/// An IP address.
pub(crate) fn address(text: &Located<String>) -> Checked<IpAddr> {
    text.parse().map_err(|_| {
        Problem::at(text.span.clone(), format!("`{}` is no IP address", text.escape_debug()))
            .expected("expected one such as \"10.99.0.1\"")
    })
}

/// An address with a port.
pub(crate) fn socket_address(text: &Located<String>) -> Checked<SocketAddr> {
    text.parse().map_err(|_| {
        Problem::at(text.span.clone(), format!("`{}` is not an address with a port", text.escape_debug()))
            .expected("expected one such as \"127.0.0.1:6653\" or \"[::1]:6653\"")
    })
}

/// Where a service listens: a loopback address, unless there is TLS or the operator knows the `risk`.
pub(crate) fn listen_address(text: &Located<String>, is_allowed: bool, risk: &str) -> Checked<SocketAddr> {
    let address = socket_address(text)?;
    if address.ip().is_loopback() || is_allowed {
        return Ok(address);
    }
    let title = format!("{} can be reached from other machines", address.ip());
    Err(Problem::at(text.span.clone(), title)
        .expected("the channel is neither authenticated nor encrypted")
        .help(format!("{risk}: give it a table `tls`, or, if you know that: `insecure_listen = true`")))
}

/// The path of a Unix socket.
pub(crate) fn socket_path(path: &Located<String>) -> Checked<&str> {
    if path.is_empty() || path.len() > LONGEST_PATH || path.contains('\0') {
        let title = format!("a socket's path has 1 to {LONGEST_PATH} bytes");
        return Err(Problem::at(path.span.clone(), title));
    }
    Ok(path)
}
