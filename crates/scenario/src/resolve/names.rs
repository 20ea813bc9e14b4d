//! Names of nodes, links and flows: each once, found again with a hint.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::file::Located;
use handfast_document::{Checked, Problem, Span};

/// The names of one kind of thing.
pub(super) struct Names {
    /// What they name: "node".
    what: &'static str,
    index: BTreeMap<String, usize>,
    /// How many names each stem has been given, so that numbering is not a search from 1.
    numbered: BTreeMap<String, u32>,
}

impl Names {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, index: BTreeMap::new(), numbered: BTreeMap::new() }
    }

    /// Takes a name for the thing with this index.
    pub(super) fn insert(&mut self, name: &str, id: usize, span: &Span) -> Checked<()> {
        if let Entry::Vacant(place) = self.index.entry(name.to_owned()) {
            place.insert(id);
            return Ok(());
        }
        let title = format!("there are two {}s called `{name}`", self.what);
        Err(Problem::at(span.clone(), title).expected("expected another name"))
    }

    /// Takes `stem`, or where that is taken `stem-2`, `stem-3`, …; returns the name.
    pub(super) fn insert_numbered(&mut self, stem: &str, id: usize, span: &Span) -> Checked<String> {
        let mut name = stem.to_owned();
        while self.index.contains_key(&name) {
            let number = self.numbered.entry(stem.to_owned()).or_insert(1);
            *number += 1;
            name = format!("{stem}-{number}");
        }
        self.insert(&name, id, span).map(|()| name)
    }

    /// The index of a name that the file uses.
    pub(super) fn find(&self, name: &Located<String>) -> Checked<usize> {
        self.index.get(&name.value).copied().ok_or_else(|| {
            let title = format!("there is no {} called `{}`", self.what, name.value.escape_debug());
            let problem = Problem::at(name.span.clone(), title)
                .expected(format!("expected the name of a {}", self.what));
            problem.nearest(&name.value, self.index.keys().map(String::as_str))
        })
    }
}
