//! A video in segments, as DASH (ISO/IEC 23009-1) has it: each exists at several bitrates, and the player chooses by what it has in its
//! playback buffer: BBA-0 of Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014.

use std::fmt;

use handfast_core::{BitRate, Bytes, Duration, Instant};

use crate::dialogue::request::MOST_ANSWER;
use crate::dialogue::{Client, Description, Request};
use crate::transport::{Figure, Figures};

/// Bytes of a request, as for the objects of a page.
const REQUEST: u32 = 350;
/// Of a full buffer what is the reservoir, and where the highest rate begins: in the paper 90 s and 216 s (90 %) of 240 s. In
/// thousandths.
const RESERVOIR: u64 = 375;
const UPPER: u64 = 900;

/// The bitrates of a video, the lowest first. With one there is nothing to choose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    rates: [u64; Self::MOST],
    len: usize,
}

impl Ladder {
    /// Rates, at most.
    pub const MOST: usize = 16;
    /// What Netflix encoded each title at before its ladders depended on the title ("Per-Title Encode Optimization", 2015).
    const FIXED: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];

    /// These, which rise; [`None`]: they do not, or there are none or too many.
    pub fn new(rates: &[BitRate]) -> Option<Self> {
        let rises = rates.is_sorted_by(|low, high| low < high) && rates.first()?.as_bps() > 0;
        let mut all = [0; Self::MOST];
        for (slot, rate) in all.get_mut(..rates.len())?.iter_mut().zip(rates) {
            *slot = rate.as_bps();
        }
        rises.then_some(Self { rates: all, len: rates.len() })
    }

    fn rates(&self) -> &[u64] {
        &self.rates[..self.len]
    }
}

impl Default for Ladder {
    fn default() -> Self {
        let mut rates = [0; Self::MOST];
        for (slot, kilo) in rates.iter_mut().zip(Self::FIXED) {
            *slot = kilo * 1000;
        }
        Self { rates, len: Self::FIXED.len() }
    }
}

/// The hash of a scenario is of this text.
impl fmt::Debug for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rates()).finish()
    }
}

/// What a player is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// The bitrates that there are.
    pub ladder: Ladder,
    /// Of a segment.
    pub segment: Duration,
    /// What the playback buffer holds at most.
    pub buffer: Duration,
    /// It plays when it has so much, at first and after a stall.
    pub start: Duration,
}

impl Default for Video {
    /// The paper's segments and buffer. That playback begins with the first whole segment is ours.
    fn default() -> Self {
        let segment = Duration::from_secs(4);
        Self { ladder: Ladder::default(), segment, buffer: Duration::from_secs(240), start: segment }
    }
}

pub(crate) fn description(video: Video) -> Description {
    Description { connections: 1, problem: problem(video) }
}

fn problem(video: Video) -> Option<String> {
    let Video { ladder, segment, buffer, start } = video;
    let highest = ladder.rates().last().map_or(0, |&rate| size(rate, segment));
    if segment < Duration::from_millis(1) {
        Some(format!("has segments of {segment}: 1 ms at least"))
    } else if buffer < segment + segment {
        Some(format!(
            "has a buffer of {buffer}: two segments at least, of which one plays while the next comes"
        ))
    } else if start > segment * (buffer.as_nanos() / segment.as_nanos()) {
        Some(format!("starts with {start}, more than the whole segments that its buffer of {buffer} holds"))
    } else if highest > MOST_ANSWER {
        Some("has segments of more than 1 TiB".to_owned())
    } else {
        None
    }
}

/// Bytes of a segment at a rate; one at least.
fn size(bps: u64, segment: Duration) -> u64 {
    let Bytes(size) = BitRate::from_bps(bps).bytes_in(segment);
    size.max(1)
}

pub(crate) fn client(video: Video) -> Box<dyn Client> {
    Box::new(Player::new(video))
}

/// What a player does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    /// It has not begun: since then a person waits.
    Starting(Instant),
    Playing,
    /// It has nothing to play since then.
    Stalled(Instant),
}

/// Who watches.
#[derive(Clone, Debug)]
struct Player {
    video: Video,
    playback: Playback,
    /// What of the video was played, and up to when that was counted.
    played: Duration,
    counted: Instant,
    /// What of it has come.
    downloaded: Duration,
    /// The rung of the last segment that was asked for.
    rung: usize,
    /// The bitrates of all segments that have come, added up, and how many there are.
    rates: (u128, u64),
    switches: u64,
    /// A segment is on its way.
    waits: bool,
    start_delay: Option<Duration>,
    stalls: u64,
    stalled: Duration,
}

impl Player {
    fn new(video: Video) -> Self {
        Self {
            video,
            playback: Playback::Starting(Instant::ZERO),
            played: Duration::ZERO,
            counted: Instant::ZERO,
            downloaded: Duration::ZERO,
            rung: 0,
            rates: (0, 0),
            switches: 0,
            waits: false,
            start_delay: None,
            stalls: 0,
            stalled: Duration::ZERO,
        }
    }

    /// What is in the playback buffer, as far as time was counted.
    fn level(&self) -> Duration {
        self.downloaded.saturating_sub(self.played)
    }

    /// Plays up to now; where the buffer runs empty before, playback has stalled then.
    fn play(&mut self, now: Instant) {
        let time = now.since(std::mem::replace(&mut self.counted, now));
        if self.playback != Playback::Playing {
            return;
        }
        let level = self.level();
        self.played += time.min(level);
        if time >= level {
            self.playback = Playback::Stalled(now - time.saturating_sub(level));
            self.stalls += 1;
        }
    }

    fn begin_if_there_is_enough(&mut self, now: Instant) {
        if self.level() < self.video.start {
            return;
        }
        match self.playback {
            Playback::Starting(since) => self.start_delay = Some(now.since(since)),
            Playback::Stalled(since) => self.stalled += now.since(since),
            Playback::Playing => return,
        }
        self.playback = Playback::Playing;
    }

    /// When the buffer has room for another segment; only while it plays does it get any.
    fn room_at(&self) -> Option<Instant> {
        let over = (self.level() + self.video.segment).saturating_sub(self.video.buffer);
        match self.playback {
            _ if self.waits => None,
            _ if over == Duration::ZERO => Some(self.counted),
            Playback::Playing => Some(self.counted + over),
            Playback::Starting(_) | Playback::Stalled(_) => None,
        }
    }

    /// Algorithm 1 of the paper: the rung of the next segment.
    fn choose(&self) -> usize {
        let rates = self.video.ladder.rates();
        let (lowest, highest) = (0, rates.len() - 1);
        let part = |thousandths: u64| self.video.buffer.as_nanos() / 1000 * thousandths;
        let (level, reservoir) = (self.level().as_nanos(), part(RESERVOIR));
        // A full buffer lacks a segment, and a little more, when the next one is asked for: the highest rate begins below that, as the
        // paper's upper reservoir holds six segments. Half of the cushion stays where the buffer is of a few segments.
        let full = self.video.buffer.saturating_sub(self.video.segment * 2).as_nanos();
        let upper = part(UPPER).min(full.max(part(RESERVOIR + (UPPER - RESERVOIR) / 2)));
        if level <= reservoir {
            return lowest;
        } else if level >= upper {
            return highest;
        }
        // f(B): from the lowest rate at the reservoir's end in a straight line to the highest.
        let rise = u128::from(rates[highest] - rates[lowest]) * u128::from(level - reservoir);
        let fits = u128::from(rates[lowest]) + rise / u128::from(upper - reservoir);
        let rate = |rung: usize| u128::from(rates[rung]);
        let (above, below) = ((self.rung + 1).min(highest), self.rung.saturating_sub(1));
        if fits >= rate(above) {
            // max {R_i : R_i < f(B)}
            (lowest..=highest).rev().find(|&rung| rate(rung) < fits).unwrap_or(lowest)
        } else if fits <= rate(below) {
            // min {R_i : R_i > f(B)}
            (lowest..=highest).find(|&rung| rate(rung) > fits).unwrap_or(highest)
        } else {
            self.rung
        }
    }
}

impl Client for Player {
    fn on_start(&mut self, now: Instant) {
        (self.playback, self.counted) = (Playback::Starting(now), now);
    }

    /// The buffer runs empty, or has room again.
    fn deadline(&self) -> Option<Instant> {
        let empty = (self.playback == Playback::Playing).then(|| self.counted + self.level());
        let room = self.room_at().filter(|&at| at > self.counted);
        empty.into_iter().chain(room).min()
    }

    fn on_timer(&mut self, now: Instant) {
        self.play(now);
    }

    fn ask(&mut self, now: Instant, _connection: usize) -> Option<Request> {
        self.play(now);
        self.room_at().filter(|&at| at <= now)?;
        let rung = self.choose();
        self.switches += u64::from(rung != self.rung && self.rates.1 > 0);
        (self.rung, self.waits) = (rung, true);
        Some(Request { len: REQUEST, answer: size(self.video.ladder.rates()[rung], self.video.segment) })
    }

    fn on_answer(&mut self, now: Instant, _connection: usize) {
        self.play(now);
        self.waits = false;
        self.downloaded += self.video.segment;
        self.rates = (self.rates.0 + u128::from(self.video.ladder.rates()[self.rung]), self.rates.1 + 1);
        self.begin_if_there_is_enough(now);
    }

    /// The player does, for a segment: a person sees nothing of it while the buffer lasts. Room that comes later is asked for then.
    fn is_waiting(&self) -> bool {
        self.waits || self.room_at() == Some(self.counted)
    }

    fn figures(&self, now: Instant) -> Figures {
        let mut last = self.clone();
        last.play(now.max(self.counted));
        let stall = match last.playback {
            Playback::Stalled(since) => now.since(since),
            Playback::Starting(_) | Playback::Playing => Duration::ZERO,
        };
        let begun = !matches!(last.playback, Playback::Starting(_));
        let (sum, segments) = self.rates;
        let mean = (segments > 0).then(|| sum as f64 / segments as f64);
        Figures::from([
            ("video_start_s", Figure::Value(self.start_delay.map(Duration::as_secs_f64))),
            ("video_stalls", Figure::Count(last.stalls)),
            // Who has seen nothing has not waited between two pictures, and is not better off for that.
            ("video_stalled_s", Figure::Value(begun.then(|| (self.stalled + stall).as_secs_f64()))),
            ("video_played_s", Figure::Value(Some(last.played.as_secs_f64()))),
            ("video_mean_bps", Figure::Value(mean)),
            ("video_switches", Figure::Count(self.switches)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::over_tcp::testing::{World, at};
    use handfast_core::Stream;
    use proptest::prelude::*;

    /// Segments of 2 s, a buffer of 20 s: a reservoir of 7.5 s, and the highest rate from 16 s on.
    fn video() -> Video {
        let rates = [1, 2, 4, 8].map(|mega| BitRate::from_bps(mega * 1_000_000));
        Video {
            ladder: Ladder::new(&rates).unwrap(),
            segment: Duration::from_secs(2),
            buffer: Duration::from_secs(20),
            start: Duration::from_secs(2),
        }
    }

    /// A player with so much in its buffer, whose last segment was of that rung.
    fn holding(millis: u64, rung: usize) -> Player {
        Player { downloaded: Duration::from_millis(millis), rung, ..Player::new(video()) }
    }

    /// A figure in whole numbers: seconds as milliseconds.
    fn whole(figures: &Figures, key: &str) -> u64 {
        match figures[key] {
            Figure::Value(value) => (value.unwrap_or_else(|| panic!("{key} is not known")) * 1e3) as u64,
            Figure::Count(count) => count,
        }
    }

    #[test]
    fn the_rate_follows_the_buffer_and_stays_while_it_may() {
        let chosen = |millis, rung| holding(millis, rung).choose();
        assert_eq!([chosen(0, 3), chosen(7_500, 3)], [0, 0], "the reservoir");
        assert_eq!([chosen(16_000, 0), chosen(15_999, 2)], [3, 2], "above the cushion");
        // f rises by 7 Mbit/s in 8.5 s: 2 Mbit/s at 8.71 s, 4 Mbit/s at 11.14 s.
        assert_eq!([chosen(8_700, 0), chosen(8_800, 0)], [0, 1], "up when the next rate fits");
        assert_eq!(chosen(11_200, 0), 2, "over two rungs at once");
        assert_eq!([chosen(8_800, 2), chosen(8_700, 2)], [2, 1], "down when f has come to the rate below");
        assert_eq!(chosen(10_000, 1), 1);
    }

    /// 216 s of 240 are more than three segments from the end: the paper's own figures stand.
    #[test]
    fn the_highest_rate_begins_where_the_paper_says_unless_the_buffer_is_short() {
        let long = Video { segment: Duration::from_secs(4), buffer: Duration::from_secs(240), ..video() };
        let chosen = |millis| {
            Player { downloaded: Duration::from_millis(millis), rung: 2, ..Player::new(long) }.choose()
        };
        assert_eq!([chosen(215_999), chosen(216_000)], [2, 3]);
        // Of two segments half of the cushion is left: 1.5 to 2.548 s.
        let short = Video { buffer: Duration::from_secs(4), ..video() };
        let chosen =
            |millis| Player { downloaded: Duration::from_millis(millis), ..Player::new(short) }.choose();
        assert_eq!([chosen(1_500), chosen(2_000), chosen(2_548)], [0, 2, 3]);
    }

    #[test]
    fn a_stall_begins_when_the_buffer_is_empty_and_is_counted_once() {
        let mut player = Player::new(video());
        player.on_start(at(0));
        assert!(player.ask(at(0), 0).is_some() && player.ask(at(0), 0).is_none(), "one segment at a time");
        player.on_answer(at(300), 0);
        assert!(player.ask(at(300), 0).is_some());
        assert_eq!(player.deadline(), Some(at(2_300)));
        player.on_timer(at(2_300));
        assert_eq!(player.deadline(), None);
        player.on_timer(at(2_400));
        player.on_answer(at(3_300), 0);
        assert_eq!(player.deadline(), Some(at(5_300)));
        let figures = player.figures(at(4_300));
        let felt = ["video_start_s", "video_stalls", "video_stalled_s", "video_played_s"];
        assert_eq!(felt.map(|key| whole(&figures, key)), [300, 1, 1_000, 3_000]);
        // Seen later, while nobody has told it that time went on.
        let figures = player.figures(at(7_300));
        assert_eq!(felt.map(|key| whole(&figures, key)), [300, 2, 3_000, 4_000]);
    }

    #[test]
    fn a_full_buffer_asks_for_nothing() {
        assert!(Player::new(video()).is_waiting(), "for the connection");
        let mut player = Player { playback: Playback::Playing, ..holding(19_000, 0) };
        assert_eq!((player.ask(at(0), 0), player.is_waiting()), (None, false));
        assert_eq!(player.deadline(), Some(at(1_000)));
        player.on_timer(at(1_000));
        assert_eq!(player.ask(at(1_000), 0).map(|request| request.answer), Some(2_000_000));
        assert!(player.is_waiting());
    }

    #[test]
    fn a_ladder_of_one_is_a_fixed_rate() {
        let ladder = Ladder::new(&[BitRate::from_bps(3_000_000)]).unwrap();
        for millis in [0, 9_000, 19_000] {
            let player = holding(millis, 0);
            assert_eq!(Player { video: Video { ladder, ..video() }, ..player }.choose(), 0);
        }
        assert!(Ladder::new(&[]).is_none());
        assert!(Ladder::new(&[2, 2].map(BitRate::from_bps)).is_none());
        assert!(Ladder::new(&[BitRate::from_bps(0)]).is_none());
        assert!(Ladder::new(&(1..=17).map(BitRate::from_bps).collect::<Vec<_>>()).is_none());
    }

    #[test]
    fn an_outage_longer_than_the_buffer_is_a_stall() {
        let mut world = World::new(client(Video { buffer: Duration::from_secs(4), ..video() }), 1, None);
        world.run(at(40_000), |now| (at(10_000)..at(20_000)).contains(&now));
        let figures = world.figures(at(40_000));
        assert_eq!(whole(&figures, "video_stalls"), 1);
        assert!((6_000..20_000).contains(&whole(&figures, "video_stalled_s")), "{figures:?}");
        assert!(world.is_right());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Whenever segments come: the buffer holds no less than nothing and no more than it may, and all time is start, play or stall.
        #[test]
        fn all_time_is_accounted_for(seed in any::<u64>(), pace in 100_u64..6_000) {
            let (mut player, mut stream, mut now) = (Player::new(video()), Stream::new(seed, "pace"), at(0));
            player.on_start(now);
            for _ in 0..200 {
                let comes = player.ask(now, 0).map(|_| now + Duration::from_millis(1 + stream.below(pace)));
                let mut next = comes.or(player.deadline()).expect("it waits for a segment or for room");
                while let Some(due) = player.deadline().filter(|&due| due < next) {
                    player.on_timer(due);
                    prop_assert!(player.deadline().is_none_or(|after| after > due));
                }
                next = next.max(now);
                now = next;
                if comes.is_some() { player.on_answer(now, 0) } else { player.on_timer(now) }
                prop_assert!(player.played <= player.downloaded && player.level() <= player.video.buffer);
                let figures = player.figures(now);
                let sum = ["video_start_s", "video_stalled_s", "video_played_s"].iter().filter_map(|key| match figures[key] {
                    Figure::Value(value) => value,
                    Figure::Count(_) => None,
                }).sum::<f64>();
                prop_assert!(player.start_delay.is_none() || (sum - now.since(at(0)).as_secs_f64()).abs() < 1e-6, "{:?}", figures);
            }
        }
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        assert_eq!(problem(Video::default()), None);
        let wrong = [
            Video { segment: Duration::ZERO, ..video() },
            Video { buffer: Duration::from_secs(3), ..video() },
            Video { start: Duration::from_secs(21), ..video() },
            // Two segments of 2 s, and no room for a third one.
            Video { buffer: Duration::from_secs(5), start: Duration::from_secs(5), ..video() },
        ];
        for video in wrong {
            assert!(problem(video).is_some(), "{video:?}");
        }
    }
}
