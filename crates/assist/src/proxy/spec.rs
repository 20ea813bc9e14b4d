//! The proxy in a scenario.

use handfast_core::Bytes;
use handfast_document::{Checked, Located, Problem, Size, integer, table};
use handfast_tcp::Profile;

use super::{Bounds, Config, Proxy};
use crate::Agent;
use crate::profile::{ProfileName, profile_called};
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// A number of connections.
    Connections: usize = 1..=1_000_000
}

/// What the endpoints of a proxy have by default: as on the lab's hosts.
const PROFILE: &str = "linux";

/// A receive window can be no larger (RFC 7323 §2.3).
const MOST_BUFFER: Bytes = Bytes(1 << 30);

table! {
    /// What a proxy that splits connections is told.
    ProxyTable {
        /// The profile of its TCP towards who opens a connection. Default: "linux".
        client_side: ProfileName,
        /// The profile of its TCP towards who is asked. Default: "linux".
        server_side: ProfileName,
        /// Bytes of one direction of a connection that wait to be sent or acknowledged at most; as many may have been received
        /// and wait before them. Default: "4MB".
        buffer: Size,
        /// Connections that are split at the same time at most; others pass. Default: 1000.
        connections: Connections,
    }
}

/// What a proxy that splits connections is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySpec {
    /// The name of the profile towards who opens a connection.
    pub client_side: &'static str,
    /// The name of the profile towards who is asked.
    pub server_side: &'static str,
    /// What it keeps at most.
    pub bounds: Bounds,
}

impl Spec for ProxySpec {
    type Table = ProxyTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &ProxyTable, _kind: &Located<String>) -> Checked<Self> {
        let profile = |given: &Option<Located<ProfileName>>| match given {
            Some(given) => Ok(profile_called(&given.value.0, &given.span)?.name),
            None => Ok(PROFILE),
        };
        let mut bounds = Bounds::default();
        if let Some(buffer) = &table.buffer {
            bounds.buffer = buffer.value.0;
            if !(Bytes(1)..=MOST_BUFFER).contains(&bounds.buffer) {
                let problem = Problem::at(buffer.span.clone(), "no TCP has such a buffer");
                return Err(problem.expected("expected a size of 1 byte to 1 GiB"));
            }
        }
        if let Some(connections) = &table.connections {
            bounds.connections = connections.value.0;
        }
        Ok(Self {
            client_side: profile(&table.client_side)?,
            server_side: profile(&table.server_side)?,
            bounds,
        })
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let tcp = |name: &str| handfast_tcp::profile(name).map_or_else(Default::default, Profile::config);
        let config = Config::new([self.client_side, self.server_side].map(tcp), self.bounds);
        Ok(Some(Box::new(Proxy::new(config, site.stream))))
    }
}
