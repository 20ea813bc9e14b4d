//! The answer to `status`: mode, plan, connections and counters.

use handfast_assist::sdn::{Class, Counters, Mode, Policy, TableUse};
use serde_json::{Map, Value, json};

use super::adapter::Adapter;
use crate::process::log::mode_word;

impl Adapter {
    pub(super) fn report(&self) -> Value {
        let config = &self.settings.controller;
        let links = self.links.iter().map(|(conn, link)| {
            json!({"conn": conn.0, "peer": link.peer().to_string(), "waiting_bytes": link.waiting()})
        });
        let ready = self.machine.switches().into_iter().map(|datapath_id| format!("{datapath_id:016x}"));
        json!({
            "ok": true,
            "mode": mode_word(config.mode == Mode::Act),
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "policy": match config.policy {
                Policy::Bare => "bare",
                Policy::Spurious => "spurious",
                Policy::ZeroWindow => "zwa",
            },
            "links": links.collect::<Vec<_>>(),
            "switches": ready.collect::<Vec<_>>(),
            "tables": self.tables(),
            "held_bytes": self.machine.held().0,
            "held_datagram_bytes": self.machine.held_datagrams().0,
            "connections": self.machine.connections(),
            "lines": self.counts.lines,
            "malformed_lines": self.counts.malformed_lines,
            "links_closed": self.counts.closed,
            "unsendable": self.counts.unsendable,
            "log_lines_dropped": self.log.dropped(),
            "counters": counters(self.machine.counters()),
        })
    }

    /// How full the table of each switch is, whoever made its entries.
    fn tables(&self) -> Map<String, Value> {
        let table = |datapath_id: u64| {
            let TableUse { entries, most } = self.machine.table_use(datapath_id);
            (format!("{datapath_id:016x}"), json!({"entries": entries, "most": most}))
        };
        self.machine.switches().into_iter().map(table).collect()
    }
}

fn counters(counters: &Counters) -> Value {
    let mut all: Map<String, Value> =
        counters.totals().into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let by_class = |counts: &[u64; Class::COUNT]| {
        Class::NAMES.iter().zip(counts).map(|(name, &count)| ((*name).to_owned(), count.into())).collect()
    };
    all.insert("dropped_other".to_owned(), Value::Object(by_class(&counters.dropped_other)));
    all.insert("passed_other".to_owned(), Value::Object(by_class(&counters.passed_other)));
    Value::Object(all)
}
