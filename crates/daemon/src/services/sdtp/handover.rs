//! One daemon follows another at the same interfaces without a gap: both get each frame, and exactly one of them sends it on.
//!
//! The one that goes first converts nothing any more ([`Stage::Draining`]), then it notes which frames it takes
//! ([`Stage::Last`]), and at its end it says which were the last. The one that comes has kept what came meanwhile, and goes on
//! behind those.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::Path;

use handfast_assist::sdtp::bump::Side;
use handfast_core::{Duration, Instant, fnv1a};
use handfast_io::net::UnixStream;
use handfast_io::{Clock, EventLoop, Interest, SourceId};
use serde_json::{Value, json};
use tracing::info;

use super::wire::Wire;
use crate::process::{Context, Failure};

/// What other edges have converted comes within this time, repairs included.
const DRAIN: Duration = Duration::from_millis(1500);
/// How long frames are noted: longer than the other one takes to hear of it.
const NOTE: Duration = Duration::from_millis(100);
/// What the one that comes has for all of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many frames in a row tell where the other one was.
const LAST: usize = 4;
/// Bytes of frames that are kept of a side; beyond, the oldest goes.
const MOST_KEPT: usize = 8 << 20;
const QUESTION: &[u8] = b"{\"event\": \"handover\"}\n";
/// Answers are shorter.
const LONGEST_ANSWER: usize = 1024;

/// Frames, each with the side to which it came.
pub(super) type Frames = Vec<(Side, Vec<u8>)>;

/// Where the one that goes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It reverts what is on its way.
    Draining,
    /// It notes the last frames.
    Last,
    /// It is over.
    Over,
}

/// The one that goes.
#[derive(Debug)]
pub(super) struct Leaving {
    /// Who has asked.
    pub(super) asker: SourceId,
    stage: Stage,
    due: Instant,
    last: [VecDeque<u64>; 2],
}

impl Leaving {
    /// It was asked. Where nothing is converted there is nothing to wait for.
    pub(super) fn new(now: Instant, asker: SourceId, converts: bool) -> Self {
        let due = if converts { now + DRAIN } else { now };
        Self { asker, stage: Stage::Draining, due, last: Default::default() }
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) fn due(&self) -> Option<Instant> {
        (self.stage != Stage::Over).then_some(self.due)
    }

    /// A frame is taken.
    pub(super) fn note(&mut self, side: Side, frame: &[u8]) {
        if self.stage != Stage::Last {
            return;
        }
        let last = &mut self.last[side as usize];
        if last.len() == LAST {
            last.pop_front();
        }
        last.push_back(fnv1a(frame));
    }

    /// The next stage; what is said of it.
    pub(super) fn advance(&mut self, now: Instant) -> Value {
        match self.stage {
            Stage::Draining => {
                (self.stage, self.due) = (Stage::Last, now + NOTE);
                json!({"ok": true, "stage": "last"})
            }
            Stage::Last | Stage::Over => {
                self.stage = Stage::Over;
                json!({"ok": true, "stage": "over", "last": self.last})
            }
        }
    }
}

/// Frames that came while the other one sent them on.
#[derive(Debug, Default)]
struct Kept {
    frames: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

impl Kept {
    fn push(&mut self, frame: &[u8]) {
        self.frames.push_back((fnv1a(frame), frame.to_vec()));
        self.bytes += frame.len();
        while self.bytes > MOST_KEPT {
            let (_, oldest) = self.frames.pop_front().unwrap_or_default();
            self.bytes -= oldest.len();
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Those behind the last ones that the other has taken; all, if these came before what is kept.
    fn behind(self, last: &[u64]) -> impl Iterator<Item = Vec<u8>> + use<> {
        let marks: Vec<u64> = self.frames.iter().map(|&(mark, _)| mark).collect();
        let is_end = |&end: &usize| {
            let taken = last.len().min(end);
            marks[end - taken..end] == last[last.len() - taken..]
        };
        let end = (1..=marks.len()).rev().find(is_end).filter(|_| !last.is_empty()).unwrap_or(0);
        self.frames.into_iter().skip(end).map(|(_, frame)| frame)
    }
}

/// The conversation of the one that comes.
struct Coming {
    stream: UnixStream,
    id: SourceId,
    answer: Vec<u8>,
    kept: [Kept; 2],
}

/// Takes over from the daemon that listens at a socket: the frames that came since, in order of each side. [`None`]: nobody is
/// there.
pub(super) fn take_over(
    socket: &Path,
    wire: &mut Wire,
    io: &mut EventLoop,
) -> Result<Option<Frames>, Failure> {
    let mut stream = match UnixStream::connect(socket) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        connected => connected.context(|| format!("socket {}", socket.display()))?,
    };
    let what = || format!("handover at {}", socket.display());
    let id = io.add(&mut stream, Interest::READABLE).context(what)?;
    // A new connection has room for one short line.
    stream.write_all(QUESTION).context(what)?;
    let coming = Coming { stream, id, answer: Vec::new(), kept: Default::default() };
    info!(socket = %socket.display(), "takes over");
    coming.wait(wire, io).context(what).map(Some)
}

impl Coming {
    fn wait(mut self, wire: &mut Wire, io: &mut EventLoop) -> io::Result<Frames> {
        let until = Clock::SYSTEM.now() + PATIENCE;
        loop {
            if Clock::SYSTEM.now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            io.wait(Some(until))?;
            for id in io.take_readable() {
                if let Some(side) = wire.side(id) {
                    if self.keep(side, wire) {
                        io.read_again(id);
                    }
                    continue;
                }
                if id == self.id
                    && let Some(last) = self.hear()?
                {
                    // What the other one has taken may wait here yet.
                    for side in Side::BOTH {
                        while self.keep(side, wire) {}
                    }
                    return Ok(self.rest(last));
                }
            }
        }
    }

    fn keep(&mut self, side: Side, wire: &mut Wire) -> bool {
        let kept = &mut self.kept[side as usize];
        wire.read(side, |frame| kept.push(frame))
    }

    /// Reads what the other one says; its last frames, once it is over.
    fn hear(&mut self) -> io::Result<Option<[Vec<u64>; 2]>> {
        let mut chunk = [0; 256];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.answer.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.answer.len() > LONGEST_ANSWER {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            while let Some(end) = self.answer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.answer.drain(..=end).collect();
                let said: Value = serde_json::from_slice(&line)?;
                match said["stage"].as_str() {
                    // Whatever it takes from now on it notes.
                    Some("last") => self.kept.iter_mut().for_each(Kept::clear),
                    Some("over") => {
                        return serde_json::from_value(said["last"].clone()).map(Some).map_err(Into::into);
                    }
                    _ => {
                        return Err(io::Error::other(
                            said["error"].as_str().unwrap_or("no handover").to_owned(),
                        ));
                    }
                }
            }
        }
    }

    fn rest(self, last: [Vec<u64>; 2]) -> Frames {
        let sides = Side::BOTH.into_iter().zip(self.kept).zip(last);
        sides.flat_map(|((side, kept), last)| kept.behind(&last).map(move |frame| (side, frame))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(frames: &[&[u8]], last: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut kept = Kept::default();
        for frame in frames {
            kept.push(frame);
        }
        kept.behind(&last.iter().map(|frame| fnv1a(frame)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn frames_go_on_behind_the_last_ones() {
        assert_eq!(behind(&[b"a", b"b", b"c", b"d"], &[b"a", b"b"]), [b"c", b"d"]);
        assert_eq!(behind(&[b"a", b"b"], &[]), [b"a", b"b"], "it has taken none since");
        assert_eq!(behind(&[b"a", b"b"], &[b"x", b"y"]), [b"a", b"b"], "they came before");
        assert_eq!(behind(&[b"b", b"c"], &[b"a", b"b"]), [b"c"], "the first one came before");
        assert_eq!(behind(&[b"a", b"b", b"a", b"c"], &[b"b", b"a"]), [b"c"]);
        assert_eq!(behind(&[b"a", b"b", b"a", b"c"], &[b"x", b"a"]), [b"b", b"a", b"c"]);
        assert_eq!(behind(&[b"a"], &[b"a"]), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn the_one_that_goes_notes_the_last_frames_of_each_side() {
        let mut io = EventLoop::new().unwrap();
        let (mut stream, _other) = UnixStream::pair().unwrap();
        let id = io.add(&mut stream, Interest::READABLE).unwrap();
        let mut leaving = Leaving::new(Instant::ZERO, id, true);
        leaving.note(Side::Inside, b"before");
        assert_eq!(leaving.due(), Some(Instant::ZERO + DRAIN));
        assert_eq!(leaving.advance(Instant::ZERO)["stage"], "last");
        for frame in [b"1", b"2", b"3", b"4", b"5"] {
            leaving.note(Side::Outside, frame);
        }
        let said = leaving.advance(Instant::ZERO);
        let last = [b"2", b"3", b"4", b"5"].map(|frame| fnv1a(frame));
        assert_eq!(said["last"], json!([[], last]));
        assert_eq!((leaving.due(), leaving.stage()), (None, Stage::Over));
        assert!(said.to_string().len() < LONGEST_ANSWER / 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = Kept::default();
        for _ in 0..MOST_KEPT / 1000 + 10 {
            kept.push(&[0; 1000]);
        }
        assert!(kept.bytes <= MOST_KEPT && kept.frames.len() == MOST_KEPT / 1000);
    }
}
