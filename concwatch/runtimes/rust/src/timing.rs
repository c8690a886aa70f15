//! How long tasks wait to begin, and how long they take: of at most 1,000 tasks a second.

use std::{
    mem,
    sync::Mutex,
    time::{Duration, Instant},
};

const PER_SECOND: f64 = 1_000.0;
const AT_ONCE: f64 = 50.0;
/// How many timings of a kind are kept between two ticks.
const MOST: usize = 10_000;

/// Limits how many tasks are timed.
pub struct TokenBucket {
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// A full one.
    pub fn new() -> Self {
        TokenBucket {
            tokens: AT_ONCE,
            filled: Instant::now(),
        }
    }

    /// Remove up to so many tokens; return how many there were.
    pub fn take(&mut self, wanted: u64) -> u64 {
        let now = Instant::now();
        let fresh = (now - self.filled).as_secs_f64() * PER_SECOND;
        self.tokens = (self.tokens + fresh).min(AT_ONCE);
        self.filled = now;
        let taken = wanted.min(self.tokens as u64);
        self.tokens -= taken as f64;
        taken
    }
}

/// What notes the times of a task; of most it is `()`, which weighs nothing and notes nothing.
pub trait Timing: Send + 'static {
    fn begin(&mut self) {}
    fn complete(&self) {}
}

impl Timing for () {}

/// The time since a task's creation and then, once it has begun, since that.
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Stopwatch(Instant::now())
    }
}

impl Timing for Stopwatch {
    fn begin(&mut self) {
        let began = Instant::now();
        note(&mut TIMINGS.lock().unwrap().delays, began - self.0);
        self.0 = began;
    }

    fn complete(&self) {
        note(&mut TIMINGS.lock().unwrap().durations, self.0.elapsed());
    }
}

#[derive(Default)]
pub struct Timings {
    pub durations: Vec<Duration>,
    pub delays: Vec<Duration>,
}

static TIMINGS: Mutex<Timings> = Mutex::new(Timings {
    durations: Vec::new(),
    delays: Vec::new(),
});

fn note(times: &mut Vec<Duration>, time: Duration) {
    if times.len() < MOST {
        times.push(time);
    }
}

/// Return those since the last call.
pub fn take() -> Timings {
    mem::take(&mut TIMINGS.lock().unwrap())
}
