//! Web pages: a person asks for one, waits until it is there, reads, and asks for the next.
//!
//! A page is its HTML, and then all objects that this names. Over HTTP/1.1 each connection has one request at a time, and who is free
//! takes the next object; over HTTP/2 one connection has all requests at once. The answers to these come one after the other: the time
//! of the last one is what a person waits, and does not change where they are interleaved.

use handfast_core::{Bytes, Duration, Instant, Stream};

use super::draw;
use crate::dialogue::request::{HEADER_LEN, MOST_ANSWER, MOST_REQUEST};
use crate::dialogue::{Client, Description, Request, Waits};
use crate::transport::{Figure, Figures};

/// Connections to a host that browsers open for HTTP/1.1 at most; RFC 9112 §9.4 leaves the number to them.
pub const CONNECTIONS: u32 = 6;
/// Objects of a page, at most.
pub const MOST_OBJECTS: u32 = 10_000;
/// Sizes of objects differ as those of the HTTP model of the IEEE 802.16m evaluation methodology: lognormal with mean 7,758 bytes and
/// standard deviation 126,168 bytes. Of that this is sigma: sqrt(ln(1 + (126168 / 7758)^2)).
const SIGMA: f64 = 2.363;

/// How a browser asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1: by several connections, one request at a time on each.
    One,
    /// HTTP/2: by one connection, all requests at once.
    Two,
}

/// What a person who reads pages is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How the browser asks.
    pub http: Http,
    /// Connections at once, at most; of HTTP/2 it has one.
    pub connections: u32,
    /// Bytes of the HTML.
    pub html: Bytes,
    /// Objects besides it.
    pub objects: u32,
    /// Bytes of all objects together.
    pub weight: Bytes,
    /// Bytes of a request.
    pub request: Bytes,
    /// From a page to the question for the next, on average.
    pub think: Duration,
}

impl Default for Page {
    /// The median mobile page of October 2024 (HTTP Archive, Web Almanac 2024, Page Weight): 66 requests, 2,311 KB, of which 18 KB are HTML.
    /// Request and reading time are those of the HTTP model of the IEEE 802.16m evaluation methodology.
    fn default() -> Self {
        Self {
            http: Http::Two,
            connections: 1,
            html: Bytes(18_000),
            objects: 65,
            weight: Bytes(2_293_000),
            request: Bytes(350),
            think: Duration::from_secs(30),
        }
    }
}

pub(crate) fn description(page: Page) -> Description {
    Description { connections: page.connections, problem: problem(page) }
}

fn problem(page: Page) -> Option<String> {
    let Page { http, connections, objects, weight, request, html, .. } = page;
    let requests = u64::from(HEADER_LEN)..=u64::from(MOST_REQUEST);
    if !(1..=CONNECTIONS).contains(&connections) {
        Some(format!("has {connections} connections: a browser has 1 to {CONNECTIONS}"))
    } else if http == Http::Two && connections > 1 {
        Some(format!("has {connections} connections: HTTP/2 has one"))
    } else if objects > MOST_OBJECTS {
        Some(format!("has pages of {objects} objects: {MOST_OBJECTS} at most"))
    } else if html.get() == 0 {
        Some("has pages without HTML".to_owned())
    } else if weight.get() < u64::from(objects) || weight.get().max(html.get()) > MOST_ANSWER {
        Some(format!(
            "has pages of {objects} objects with {weight}: each has a byte at least, and all 1 TiB at most"
        ))
    } else if !requests.contains(&request.get()) {
        Some(format!("has requests of {request}: they have {} to {} bytes", requests.start(), requests.end()))
    } else {
        None
    }
}

pub(crate) fn client(page: Page, seed: u64, flow: &str) -> Box<dyn Client> {
    let connections = vec![0; page.connections as usize];
    Box::new(Browser {
        page,
        stream: Stream::new(seed, &format!("flow {flow} pages")),
        stage: Stage::Reading(None),
        since: Instant::ZERO,
        objects: Vec::new(),
        asked: connections,
        loads: Waits::default(),
    })
}

/// Where a browser stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A person reads, and asks for the next page then; [`None`]: not before it begins.
    Reading(Option<Instant>),
    /// The HTML is to be asked for.
    Html,
    /// The HTML is on its way.
    Waiting,
    /// Objects are.
    Objects,
}

/// Who reads.
#[derive(Debug)]
struct Browser {
    page: Page,
    stream: Stream,
    stage: Stage,
    /// When the page was asked for.
    since: Instant,
    /// The sizes of objects that are to be asked for, the next one last.
    objects: Vec<u64>,
    /// For each connection how many requests have no whole answer.
    asked: Vec<u32>,
    loads: Waits,
}

impl Browser {
    /// The sizes of a page's objects: of all bytes each has one, and a part of the others that is drawn.
    fn sizes(&mut self) -> Vec<u64> {
        let Page { objects, weight, .. } = self.page;
        let parts: Vec<f64> = (0..objects).map(|_| draw::lognormal(&mut self.stream, SIGMA)).collect();
        let (sum, rest) = (parts.iter().sum::<f64>(), weight.get() - u64::from(objects));
        let mut sizes: Vec<u64> = parts.iter().map(|part| 1 + (rest as f64 * (part / sum)) as u64).collect();
        // What rounding has left, or taken too much.
        let (all, weight) = (sizes.iter().sum::<u64>(), weight.get());
        if let Some(largest) = sizes.iter_mut().max() {
            *largest = (*largest + weight.saturating_sub(all)).saturating_sub(all.saturating_sub(weight));
        }
        sizes
    }

    fn outstanding(&self) -> u32 {
        self.asked.iter().sum()
    }

    fn is_free(&self, connection: usize) -> bool {
        self.page.http == Http::Two || self.asked[connection] == 0
    }

    fn begin(&mut self, now: Instant) {
        (self.stage, self.since) = (Stage::Html, now);
    }

    fn end_if_whole(&mut self, now: Instant) {
        if self.objects.is_empty() && self.outstanding() == 0 {
            self.loads.add(now.since(self.since));
            let pause = draw::times(self.page.think, draw::exponential(&mut self.stream));
            self.stage = Stage::Reading(Some(now + pause));
        }
    }
}

impl Client for Browser {
    fn on_start(&mut self, now: Instant) {
        self.begin(now);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Reading(next) => next,
            Stage::Html | Stage::Waiting | Stage::Objects => None,
        }
    }

    fn on_timer(&mut self, now: Instant) {
        self.begin(now);
    }

    fn ask(&mut self, _now: Instant, connection: usize) -> Option<Request> {
        let answer = match self.stage {
            Stage::Html if connection == 0 => {
                self.stage = Stage::Waiting;
                self.page.html.get()
            }
            Stage::Objects if self.is_free(connection) => self.objects.pop()?,
            _ => return None,
        };
        self.asked[connection] += 1;
        Some(Request { len: self.page.request.get() as u32, answer })
    }

    fn on_answer(&mut self, now: Instant, connection: usize) {
        self.asked[connection] -= 1;
        if self.stage == Stage::Waiting {
            self.stage = Stage::Objects;
            self.objects = self.sizes();
        }
        self.end_if_whole(now);
    }

    fn is_waiting(&self) -> bool {
        !matches!(self.stage, Stage::Reading(_))
    }

    fn wants(&self) -> usize {
        (self.objects.len() + self.outstanding() as usize).clamp(1, self.asked.len())
    }

    fn figures(&self, now: Instant) -> Figures {
        let loads = self.loads.sorted(now, self.is_waiting().then_some(self.since).into_iter());
        Figures::from([
            ("pages_loaded", Figure::Count(self.loads.count())),
            ("page_load_p50_s", loads.at(500)),
            ("page_load_p95_s", loads.at(950)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::over_tcp::testing::{World, at};
    use proptest::prelude::*;

    const SMALL: Page = Page {
        http: Http::One,
        connections: 6,
        html: Bytes(1_000),
        objects: 20,
        weight: Bytes(20_000),
        request: Bytes(350),
        think: Duration::from_millis(500),
    };

    fn browser(page: Page) -> Browser {
        Browser {
            page,
            stream: Stream::new(1, "test"),
            stage: Stage::Reading(None),
            since: Instant::ZERO,
            objects: Vec::new(),
            asked: vec![0; page.connections as usize],
            loads: Waits::default(),
        }
    }

    fn count(figures: &Figures, key: &str) -> u64 {
        match figures[key] {
            Figure::Count(count) => count,
            Figure::Value(_) => panic!("{key} is no count"),
        }
    }

    #[test]
    fn the_html_comes_first_and_then_each_free_connection_takes_an_object() {
        let mut browser = browser(Page { objects: 8, ..SMALL });
        browser.on_start(at(0));
        assert_eq!(
            (browser.wants(), browser.ask(at(0), 1)),
            (1, None),
            "the HTML goes by the first connection"
        );
        assert_eq!(browser.ask(at(0), 0), Some(Request { len: 350, answer: 1_000 }));
        assert_eq!(browser.ask(at(0), 0), None);
        browser.on_answer(at(50), 0);
        assert_eq!(browser.wants(), 6);
        assert!((0..6).all(|connection| browser.ask(at(50), connection).is_some()));
        assert!((0..6).all(|connection| browser.ask(at(50), connection).is_none()), "one at a time on each");
        browser.on_answer(at(90), 4);
        assert!(browser.ask(at(90), 3).is_none() && browser.ask(at(90), 4).is_some());
        assert_eq!((browser.objects.len(), browser.outstanding()), (1, 6));
    }

    #[test]
    fn one_connection_has_all_requests_at_once() {
        let mut browser = browser(Page { http: Http::Two, connections: 1, objects: 8, ..SMALL });
        browser.on_start(at(0));
        browser.ask(at(0), 0);
        browser.on_answer(at(50), 0);
        assert_eq!(std::iter::from_fn(|| browser.ask(at(50), 0)).count(), 8);
        assert_eq!(browser.wants(), 1);
    }

    #[test]
    fn a_page_is_there_with_its_last_object_and_a_person_reads_then() {
        let mut browser = browser(Page { objects: 1, ..SMALL });
        browser.on_start(at(7));
        browser.ask(at(7), 0);
        browser.on_answer(at(50), 0);
        assert_eq!((browser.deadline(), count(&browser.figures(at(50)), "pages_loaded")), (None, 0));
        browser.ask(at(50), 0);
        assert!(browser.is_waiting());
        browser.on_answer(at(107), 0);
        assert!(!browser.is_waiting(), "a person reads");
        assert_eq!(browser.figures(at(107))["page_load_p50_s"], Figure::Value(Some(0.1)));
        assert!(browser.deadline() > Some(at(107)));
    }

    #[test]
    fn a_page_without_objects_is_its_html() {
        let mut browser = browser(Page { objects: 0, weight: Bytes(0), ..SMALL });
        browser.on_start(at(0));
        browser.ask(at(0), 0);
        browser.on_answer(at(40), 0);
        assert_eq!(count(&browser.figures(at(40)), "pages_loaded"), 1);
    }

    /// A round trip takes 40 ms: one for the handshake, one for the HTML. The first connection has an object in the next one, in which
    /// the other five are opened; 19 objects by six connections are four more.
    #[test]
    fn a_load_takes_the_round_trips_that_its_requests_need() {
        let load = |page: Page| {
            let mut world = World::new(client(page, 1, "a-b"), page.connections, Some(at(400)));
            world.run(at(2_000), |_| false);
            (world.opened(), world.figures(at(2_000))["page_load_p50_s"])
        };
        let light =
            Page { weight: Bytes(400), request: Bytes(50), think: Duration::from_secs(3600), ..SMALL };
        let trips = |count: u64| Figure::Value(Some(Duration::from_millis(40 * count).as_secs_f64()));
        assert_eq!(load(Page { objects: 1, ..light }), (1, trips(3)));
        assert_eq!(load(light), (6, trips(2 + 1 + 4)));
        assert_eq!(load(Page { http: Http::Two, connections: 1, ..light }), (1, trips(3)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn the_objects_of_a_page_have_all_its_bytes(seed in any::<u64>(), objects in 1_u32..300, more in 0_u64..5_000_000) {
            let page = Page { objects, weight: Bytes(u64::from(objects) + more), ..SMALL };
            let mut browser = Browser { stream: Stream::new(seed, "sizes"), ..browser(page) };
            let sizes = browser.sizes();
            prop_assert_eq!(sizes.iter().sum::<u64>(), page.weight.get());
            prop_assert!(sizes.len() == objects as usize && !sizes.contains(&0));
        }

        /// Whatever is lost, all that was asked for arrives, and pages are whole.
        #[test]
        fn all_bytes_that_were_asked_for_arrive(
            seed in 0_u64..1000,
            loss in 0.0_f64..0.1,
            (http, connections) in prop::sample::select(vec![(Http::One, 1), (Http::One, 3), (Http::One, 6), (Http::Two, 1)]),
        ) {
            let page = Page { http, connections, ..SMALL };
            let mut drops = Stream::new(seed, "drops");
            let mut world = World::new(client(page, seed, "a-b"), connections, Some(at(40_000)));
            world.run(at(100_000), |now| now < at(20_000) && drops.chance(loss));
            let pages = count(&world.figures(at(100_000)), "pages_loaded");
            let whole = page.html.get() + page.weight.get();
            prop_assert!(world.is_right());
            prop_assert!(pages > 5, "{} pages", pages);
            prop_assert!((pages * whole..=(pages + 1) * whole).contains(&world.delivered()));
        }
    }

    #[test]
    fn what_no_browser_does_is_refused() {
        assert_eq!(problem(Page::default()), None);
        let wrong = [
            Page { connections: 7, ..SMALL },
            Page { connections: 0, ..SMALL },
            Page { http: Http::Two, ..SMALL },
            Page { weight: Bytes(19), ..SMALL },
            Page { objects: MOST_OBJECTS + 1, ..SMALL },
            Page { request: Bytes(15), ..SMALL },
            Page { html: Bytes(0), ..SMALL },
            Page { html: Bytes(MOST_ANSWER + 1), ..SMALL },
        ];
        for page in wrong {
            assert!(problem(page).is_some(), "{page:?}");
        }
    }
}
