//! Who tells the controller where stations are: the access points' part, with the delay that the scheme gives them.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use handfast_core::{Duration, Instant};
use handfast_measure::association::{Associations, News};
use handfast_measure::timeline::Timeline;
use handfast_scenario::{Scenario, Sdn};
use serde_json::{Value, json};

use crate::error::Tried;
use crate::plan::mac_text;
use crate::traffic::Board;
use crate::{Clock, LabError};

/// How long the controller may take to answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
/// How often the thread looks whether the run is over.
const NAP: Duration = Duration::from_millis(20);

/// A connection to the controller's association socket, and what will be said there.
pub(crate) struct Announcer {
    stream: BufReader<UnixStream>,
    news: Vec<(Instant, String)>,
}

impl Announcer {
    /// Connects, and says where stations are at the start.
    ///
    /// # Errors
    /// Nobody listens, or the controller refuses what it is told.
    pub(crate) fn open(
        scenario: &Scenario,
        sdn: &Sdn,
        timeline: &Timeline,
        socket: &Path,
    ) -> Result<Self, LabError> {
        let what = || format!("the controller's socket {}", socket.display());
        let stream = UnixStream::connect(socket).tried(what)?;
        stream.set_read_timeout(Some(PATIENCE)).tried(what)?;
        let news = Associations::new(scenario, timeline).news(sdn.notification);
        let (first, later): (Vec<News>, Vec<News>) =
            news.into_iter().partition(|news| news.at == Instant::ZERO);
        let line = |news: News| (news.at, line(scenario, news));
        let mut this = Self { stream: BufReader::new(stream), news: later.into_iter().map(line).collect() };
        for news in first {
            this.tell(&line(news).1).tried(what)?;
        }
        Ok(this)
    }

    /// Says each thing in time, until the last one is said or the run is over; how late the latest was said.
    ///
    /// # Errors
    /// The controller does not answer, or refuses what it is told.
    pub(crate) fn run(mut self, clock: Clock, end: Instant, board: &Board) -> Result<Duration, LabError> {
        let mut latest = Duration::ZERO;
        for (at, line) in std::mem::take(&mut self.news) {
            while clock.now() < at.min(end) && !board.is_stopped() {
                let left = at.min(end).since(clock.now()).min(NAP);
                thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
            }
            if at >= end || board.is_stopped() {
                break;
            }
            latest = latest.max(clock.now().since(at));
            self.tell(&line).tried(|| "the controller".to_owned())?;
        }
        Ok(latest)
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(line.as_bytes())?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer)?;
        verdict(&answer)
    }
}

fn line(scenario: &Scenario, News { station, ap, epoch, began, .. }: News) -> String {
    let event = if began { "associated" } else { "disassociated" };
    let (station, ap) = (mac_text(station), &scenario.nodes[ap].name);
    format!("{}\n", json!({"event": event, "station": station, "ap": ap, "epoch": epoch}))
}

fn verdict(answer: &str) -> io::Result<()> {
    let refused = || io::Error::other(format!("it answered: {}", answer.trim_end()));
    let answer: Value = serde_json::from_str(answer).map_err(|_| refused())?;
    if answer.get("ok") == Some(&Value::Bool(true)) { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_measure::testing;

    #[test]
    fn a_line_names_station_access_point_and_epoch() {
        let scenario = testing::roam(&[]);
        let news = News { at: Instant::ZERO, station: 4, ap: 3, epoch: 2, began: true };
        let text = line(&scenario, news);
        let read: Value = serde_json::from_str(&text).unwrap();
        let ap = scenario.nodes[3].name.as_str();
        let expected = json!({"event": "associated", "station": "02:00:0a:00:00:05", "ap": ap, "epoch": 2});
        assert_eq!(read, expected);
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn only_ok_is_ok() {
        assert!(verdict("{\"ok\": true}\n").is_ok());
        for wrong in ["", "{\"error\": \"unknown access point\"}", "{\"ok\": false}", "ok"] {
            assert!(verdict(wrong).is_err(), "{wrong}");
        }
    }
}
