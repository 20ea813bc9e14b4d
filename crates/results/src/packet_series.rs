//! The table of single packets, of flows that measure their delays.

use handfast_core::Instant;
use handfast_host::probe::PacketTime;

use crate::table::{Column, DType, Table, Value};

const fn column(name: &'static str, dtype: DType, description: &'static str) -> Column {
    Column { name, dtype, description, curve: None }
}

/// A row for each packet of a flow with `measure = ["delay"]`, in order of flows, connections and packets. `flow` counts the
/// scenario's flows from 0. NaN: it has not happened, or is not known.
pub const PACKETS: &Table = &Table {
    name: "packets",
    columns: &[
        column("packet", DType::U64, "its number in the connection, from 0"),
        column("flow", DType::U32, "its name"),
        column("connection", DType::U32, "which of those that the flow has at once, from 0"),
        column(
            "written_s",
            DType::F64,
            "when the application wrote it; null where it writes as there is room",
        ),
        column("sent_s", DType::F64, "when its first byte was sent first"),
        column("arrived_s", DType::F64, "when the last of its bytes had come to the receiving host"),
        column("delivered_s", DType::F64, "when the receiving application had got all of it, in order"),
    ],
};

/// The row of a packet.
pub(crate) fn row(number: u64, flow: u32, connection: u32, packet: &PacketTime) -> [Value; 7] {
    let time = |at: Option<Instant>| Value::F64(at.map_or(f64::NAN, Instant::as_secs_f64));
    let PacketTime { written, sent, arrived, delivered } = *packet;
    [
        Value::U64(number),
        Value::U32(flow),
        Value::U32(connection),
        time(written),
        time(sent),
        time(arrived),
        time(delivered),
    ]
}
