//! The thread that sends ticks, however busy the worker is.

use crate::{
    goal::Counts,
    lag,
    system::{self, Clock},
    timing::{self, Timings},
    wire,
};
use std::{
    sync::Mutex,
    thread::{self, Thread},
    time::{Duration, Instant},
};

struct State {
    counts: Counts,
    interval: Duration,
}

static STATE: Mutex<State> = Mutex::new(State {
    counts: Counts {
        created: 0,
        completed: 0,
        cancelled: 0,
        dying: 0,
    },
    interval: Duration::from_millis(100),
});

/// Set what the next ticks report.
pub fn show(counts: Counts) {
    STATE.lock().unwrap().counts = counts;
}

pub fn set_interval(interval: Duration) {
    STATE.lock().unwrap().interval = interval;
}

/// Start it; unparking it sends a tick at once.
pub fn start() -> Thread {
    thread::spawn(|| {
        let mut due = Instant::now();
        loop {
            let State { counts, interval } = *STATE.lock().unwrap();
            send(&counts);
            due = (due + interval).max(Instant::now()); // do not catch up
            thread::park_timeout(due - Instant::now());
            due = due.min(Instant::now());
        }
    })
    .thread()
    .clone()
}

fn send(counts: &Counts) {
    let (cpu, switches) = system::usage();
    let Timings { durations, delays } = timing::take();
    wire::send(
        "tick",
        &[
            ("time", system::now(Clock::Monotonic).into()),
            ("created", counts.created.into()),
            ("live", counts.live().into()),
            ("queued", 0.into()),
            ("completed", counts.completed.into()),
            ("failed", 0.into()),
            ("cancelled", counts.cancelled.into()),
            ("lag", lag::take().into()),
            ("cpu", cpu.into()),
            ("switches", switches.into()),
            ("durations", durations.into()),
            ("delays", delays.into()),
        ],
    );
}
