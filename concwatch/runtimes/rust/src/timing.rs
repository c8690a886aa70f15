//! How long tasks wait to begin, and how long they take: of at most 1,000 tasks a second.

use std::{
    collections::BTreeMap,
    mem,
    sync::Mutex,
    time::{Duration, Instant},
};

const PER_SECOND: f64 = 1_000.0;
const AT_ONCE: f64 = 50.0;
/// How many timings of a kind are kept between two ticks.
const MOST: usize = 10_000;

/// A token bucket that limits how many tasks are timed.
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

    /// Remove up to so many tokens; return how many were removed.
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

#[derive(Default)]
pub struct Timings {
    pub durations: Vec<Duration>,
    pub delays: Vec<Duration>,
}

struct State {
    /// When timed tasks were created or, if they have begun, when they began, by slot: here and not in the
    /// tasks, each of which would be larger, or each kind compiled twice.
    since: BTreeMap<u32, Instant>,
    timings: Timings,
}

static STATE: Mutex<State> = Mutex::new(State {
    since: BTreeMap::new(),
    timings: Timings {
        durations: Vec::new(),
        delays: Vec::new(),
    },
});

fn note(times: &mut Vec<Duration>, time: Duration) {
    if times.len() < MOST {
        times.push(time);
    }
}

pub fn created(slot: u32) {
    STATE.lock().unwrap().since.insert(slot, Instant::now());
}

pub fn begun(slot: u32) {
    let began = Instant::now();
    let State { since, timings } = &mut *STATE.lock().unwrap();
    if let Some(created) = since.insert(slot, began) {
        note(&mut timings.delays, began - created);
    }
}

pub fn ended(slot: u32, completed: bool) {
    let State { since, timings } = &mut *STATE.lock().unwrap();
    if let (Some(began), true) = (since.remove(&slot), completed) {
        note(&mut timings.durations, began.elapsed());
    }
}

/// Return those recorded since the last call.
pub fn take() -> Timings {
    mem::take(&mut STATE.lock().unwrap().timings)
}
