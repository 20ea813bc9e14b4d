//! Time series: columns of little-endian numbers, handed out in chunks so that memory stays bounded.
//!
//! Three tables. [`FLOWS`] (`flow_series.rs`) has a row for each open flow at each sample. [`QUEUES`] has rows for each direction
//! of a link; one
//! that is like the rows before and after it is left out, so that a line through the others is the line through all. [`PACKETS`]
//! (`packet_series.rs`) has a row for each packet of the flows that ask for it, at the end of the run.
//! Sampling only looks: results are the same with and without.

use std::collections::BTreeMap;
use std::io::{self, Write};

use handfast_scenario::{Link, NodeId, Scenario};

pub use crate::flow_series::FLOWS;
pub use crate::packet_series::PACKETS;
pub(crate) use crate::table::Value;
pub use crate::table::{Column, Curve, DType, Table};

/// What waits at one direction of a link, the packet in serialisation included. `queue` is twice the link's number, plus
/// one for the direction from `between[1]` to `between[0]`: an index into [`queue_names`].
pub const QUEUES: &Table = &Table {
    name: "queues",
    columns: &[
        Column { name: "time_s", dtype: DType::F64, description: "since the run's start", curve: None },
        Column {
            name: "queue",
            dtype: DType::U32,
            description: "`a>b` for the direction from node a to node b; the link's name before it where several join them",
            curve: None,
        },
        Column {
            name: "queue_pkt",
            dtype: DType::U32,
            description: "packets waiting, the one in serialisation included",
            curve: Some(&Curve {
                key: "queue",
                title: "Fullest queue",
                axis: "queue",
                unit: "pkt",
                scale: 1.0,
                steps: true,
            }),
        },
        Column { name: "queue_bytes", dtype: DType::U64, description: "the same in bytes", curve: None },
    ],
};

/// "a>b" for each direction of each link, with the link's name before it where several links join a and b.
pub fn queue_names(scenario: &Scenario) -> Vec<String> {
    let mut joined = BTreeMap::new();
    for link in &scenario.links {
        let mut ends = link.between;
        ends.sort_unstable();
        *joined.entry(ends).or_insert(0) += 1;
    }
    let name = |link: &Link, from: NodeId, to: NodeId| {
        let direction = format!("{}>{}", scenario.nodes[from].name, scenario.nodes[to].name);
        let alone = joined.get(&[from.min(to), from.max(to)]) == Some(&1);
        if alone { direction } else { format!("{} {direction}", link.name) }
    };
    scenario
        .links
        .iter()
        .flat_map(|link| [[0, 1], [1, 0]].map(|[a, b]| name(link, link.between[a], link.between[b])))
        .collect()
}

/// All tables, in the order of their numbers in files.
pub const TABLES: [&Table; 3] = [FLOWS, QUEUES, PACKETS];

/// Where chunks go.
pub trait SeriesSink {
    /// Takes `rows` rows of a table: one slice of bytes a column, in the table's order.
    ///
    /// # Errors
    /// Those of what it writes to; they end the run.
    fn chunk(&mut self, table: &'static Table, rows: usize, columns: &[Vec<u8>]) -> io::Result<()>;
}

/// A sink for runs without time series.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSeries;

impl SeriesSink for NoSeries {
    fn chunk(&mut self, _: &'static Table, _: usize, _: &[Vec<u8>]) -> io::Result<()> {
        Ok(())
    }
}

/// The name, type and values of a column.
pub type Collection<'a> = (&'static str, DType, &'a [u8]);

/// Keeps everything: for each table its columns, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    tables: [Vec<Vec<u8>>; TABLES.len()],
}

impl Collected {
    /// For each table its name and columns.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, Vec<Collection<'_>>)> {
        TABLES.iter().zip(&self.tables).map(|(table, columns)| {
            let bytes = |i: usize| columns.get(i).map_or(&[][..], Vec::as_slice);
            let named =
                table.columns.iter().enumerate().map(|(i, column)| (column.name, column.dtype, bytes(i)));
            (table.name, named.collect())
        })
    }
}

impl SeriesSink for Collected {
    fn chunk(&mut self, table: &'static Table, _: usize, columns: &[Vec<u8>]) -> io::Result<()> {
        let Some(index) = TABLES.iter().position(|&t| t == table) else { return Ok(()) };
        let all = &mut self.tables[index];
        all.resize(columns.len(), Vec::new());
        all.iter_mut().zip(columns).for_each(|(all, more)| all.extend_from_slice(more));
        Ok(())
    }
}

/// Writes a file: the line `handfast-series 1`, then chunks. A chunk is the number of its table (`u32`, the index in
/// [`TABLES`]), the number of rows (`u32`), and the columns one after the other; all numbers are little-endian.
#[derive(Debug)]
pub struct FileSink<W: Write> {
    out: W,
}

impl<W: Write> FileSink<W> {
    /// Begins the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"handfast-series 1\n")?;
        Ok(Self { out })
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write> SeriesSink for FileSink<W> {
    fn chunk(&mut self, table: &'static Table, rows: usize, columns: &[Vec<u8>]) -> io::Result<()> {
        let number = TABLES.iter().position(|&t| t == table).unwrap_or_default() as u32;
        self.out.write_all(&number.to_le_bytes())?;
        self.out.write_all(&(rows as u32).to_le_bytes())?;
        columns.iter().try_for_each(|column| self.out.write_all(column))
    }
}

/// Rows of one table that wait to fill a chunk.
#[derive(Debug)]
pub(crate) struct Rows {
    table: &'static Table,
    columns: Vec<Vec<u8>>,
    count: usize,
}

/// Rows a chunk: 300 kB of the widest table.
const CHUNK_ROWS: usize = 8192;

impl Rows {
    pub(crate) fn new(table: &'static Table) -> Self {
        Self { table, columns: vec![Vec::new(); table.columns.len()], count: 0 }
    }

    /// Adds one row: a value a column, in order and of its type.
    #[inline]
    pub(crate) fn push(&mut self, values: impl ExactSizeIterator<Item = Value>) {
        assert_eq!(values.len(), self.columns.len(), "a row has a value a column");
        for (column, value) in self.columns.iter_mut().zip(values) {
            match value {
                Value::F32(value) => column.extend_from_slice(&value.to_le_bytes()),
                Value::F64(value) => column.extend_from_slice(&value.to_le_bytes()),
                Value::U32(value) => column.extend_from_slice(&value.to_le_bytes()),
                Value::U64(value) => column.extend_from_slice(&value.to_le_bytes()),
            }
        }
        self.count += 1;
    }

    /// Hands the rows out if there are many, or `last`.
    pub(crate) fn hand_out(&mut self, sink: &mut dyn SeriesSink, last: bool) -> io::Result<()> {
        if self.count >= CHUNK_ROWS || (last && self.count > 0) {
            sink.chunk(self.table, self.count, &self.columns)?;
            self.columns.iter_mut().for_each(Vec::clear);
            self.count = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing::Net;

    fn row(i: u64) -> [Value; 4] {
        [Value::F64(i as f64), Value::U32(1), Value::U32(7), Value::U64(u64::MAX)]
    }

    #[test]
    fn chunks_keep_every_row_in_order() {
        let (mut rows, mut sink) = (Rows::new(QUEUES), Collected::default());
        let count = CHUNK_ROWS as u64 * 2 + 5;
        for i in 0..count {
            rows.push(row(i).into_iter());
            rows.hand_out(&mut sink, false).unwrap();
            assert!(rows.count < CHUNK_ROWS);
        }
        rows.hand_out(&mut sink, true).unwrap();
        let (name, columns) = sink.tables().nth(1).unwrap();
        assert_eq!((name, columns[0].0, columns[0].1), ("queues", "time_s", DType::F64));
        let times = columns[0].2.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
        assert!(times.eq((0..count).map(|i| i as f64)));
        for (name, dtype, bytes) in columns {
            assert_eq!(bytes.len(), dtype.size() * count as usize, "{name}");
        }
    }

    #[test]
    fn the_file_holds_what_was_handed_out() {
        let mut sink = FileSink::new(Vec::new()).unwrap();
        let mut rows = Rows::new(QUEUES);
        rows.push(row(9).into_iter());
        rows.hand_out(&mut sink, true).unwrap();
        let file = sink.finish().unwrap();
        let mut expected = b"handfast-series 1\n".to_vec();
        expected.extend([1_u32, 1].map(u32::to_le_bytes).as_flattened());
        expected.extend(9_f64.to_le_bytes());
        expected.extend([1_u32, 7].map(u32::to_le_bytes).as_flattened());
        expected.extend(u64::MAX.to_le_bytes());
        assert_eq!(file, expected);
    }

    #[test]
    fn queues_have_names() {
        let net = Net::new("hsh").link(0, 1).link(1, 2).link(1, 2);
        let names = queue_names(&net.build());
        assert_eq!(names, ["h0>s1", "s1>h0", "1-2 s1>h2", "1-2 h2>s1", "1-2 s1>h2", "1-2 h2>s1"]);
    }
}
