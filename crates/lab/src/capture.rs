//! Captures: what a node sends and gets, one pcapng file a node.
//!
//! A frame is recorded when the packet loop gets it from the node, and when the node gets it from the loop: by a socket at
//! each end of each of its wires, so that our own endpoint's frames, which bypass the node's kernel, are seen as well.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use handfast_core::{Duration, Instant};
use handfast_io::{Watch, wait};
use handfast_plan::topology::channel;
use handfast_results::capture::{SNAP_LEN, file_name};
use handfast_scenario::{NodeId, Scenario};
use handfast_wire::LinkType;
use handfast_wire::pcapng::{Interface, PcapngError, PcapngWriter};

use crate::error::Tried;
use crate::names::{interface_of, loop_interface_of, wire_of};
use crate::traffic::Board;
use crate::{Clock, Inbox, LabError, Netns, PacketSocket};

/// An Ethernet header.
const HEADER: u32 = 14;
/// The thread looks that often whether the run is over.
const NAP: Duration = Duration::from_millis(20);

struct Tap {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<File>>,
}

struct Ear {
    socket: PacketSocket,
    tap: usize,
    interface: Interface,
}

/// All captures of a run.
pub(crate) struct Captures {
    taps: Vec<Tap>,
    ears: Vec<Ear>,
}

impl Captures {
    /// Creates the files of the scenario's captures in `dir`; none where that is [`None`].
    pub(crate) fn open(
        scenario: &Scenario,
        hub: &Netns,
        nodes: &[Netns],
        dir: Option<&Path>,
    ) -> Result<Self, LabError> {
        let mut this = Self { taps: Vec::new(), ears: Vec::new() };
        let Some(dir) = dir else { return Ok(this) };
        for &node in &scenario.captures {
            let path = dir.join(file_name(&scenario.nodes[node].name));
            let what = || format!("capture {}", path.display());
            this.add(scenario, node, hub, &nodes[node], &path).tried(what)?;
        }
        Ok(this)
    }

    fn add(
        &mut self,
        scenario: &Scenario,
        node: NodeId,
        hub: &Netns,
        space: &Netns,
        path: &Path,
    ) -> io::Result<()> {
        let mut writer = PcapngWriter::new(BufWriter::new(File::create(path)?))?;
        for (id, link) in scenario.links.iter().enumerate() {
            for (end, _) in link.between.iter().enumerate().filter(|&(_, &at)| at == node) {
                let out = channel(id, end);
                if wire_of(scenario, out) != out {
                    // The radio's other links share its interface.
                    continue;
                }
                let peer = &scenario.nodes[link.between[1 - end]].name;
                let snap_len = Some(SNAP_LEN + HEADER);
                let interface = writer.add_interface(&format!("to-{peer}"), LinkType::Ethernet, snap_len)?;
                let names = [(hub, loop_interface_of(scenario, out)), (space, interface_of(scenario, out))];
                for (space, name) in names {
                    let _there = space.enter()?;
                    let socket = PacketSocket::on(&name)?;
                    self.ears.push(Ear { socket, tap: self.taps.len(), interface });
                }
            }
        }
        self.taps.push(Tap { path: path.to_owned(), writer });
        Ok(())
    }

    /// Records until `end` or a stop, and completes the files.
    ///
    /// # Errors
    /// Those of the files.
    pub(crate) fn run(mut self, clock: Clock, end: Instant, board: &Board) -> Result<(), LabError> {
        let mut inbox = Inbox::new();
        while !self.ears.is_empty() && clock.now() < end && !board.is_stopped() {
            let sockets = self.ears.iter().map(|ear| ear.socket.as_fd());
            let mut watches: Vec<_> = sockets.map(|fd| Watch::new(fd, true, false)).collect();
            // Whatever this says: looking at all sockets is never wrong.
            let _ = wait(None, &mut watches, NAP);
            self.record(clock, &mut inbox)?;
        }
        for Tap { path, writer } in self.taps {
            writer.finish().tried(|| format!("capture {}", path.display()))?;
        }
        Ok(())
    }

    /// Writes all that has come in, in order of time.
    fn record(&mut self, clock: Clock, inbox: &mut Inbox) -> Result<(), LabError> {
        let mut frames = Vec::new();
        for ear in &self.ears {
            let mut more = true;
            while more {
                more = ear.socket.receive(inbox).tried(|| "a capture".to_owned())?;
                let (now, offset) = clock.now_and_offset();
                for arrival in inbox.arrivals() {
                    let at = arrival.at.map_or(now, |nanos| clock.at_monotonic(nanos.wrapping_add(offset)));
                    let Some(frame) = arrival.frame else { continue };
                    frames.push((at, ear.tap, ear.interface, frame.to_vec()));
                }
            }
        }
        frames.sort_by_key(|&(at, ..)| at);
        for (at, tap, interface, frame) in frames {
            let Tap { path, writer } = &mut self.taps[tap];
            let written = writer.record_frame(interface, at, &frame).map_err(|error| match error {
                PcapngError::Io(error) => error,
                other => io::Error::other(other.to_string()),
            });
            written.tried(|| format!("capture {}", path.display()))?;
        }
        Ok(())
    }
}
