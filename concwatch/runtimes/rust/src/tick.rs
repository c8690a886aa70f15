//! The thread that sends ticks, however busy the worker is.

use crate::{
    lag, population,
    system::{self, Clock},
    timing::{self, Timings},
    wire,
};
use std::{
    sync::Mutex,
    thread::{self, Thread},
    time::{Duration, Instant},
};

static INTERVAL: Mutex<Duration> = Mutex::new(Duration::from_millis(100));

pub fn set_interval(interval: Duration) {
    *INTERVAL.lock().unwrap() = interval;
}

/// Start it; unparking it sends a tick at once.
pub fn start() -> Thread {
    thread::spawn(|| {
        let mut due = Instant::now();
        loop {
            population::check_file_limit();
            send();
            let interval = *INTERVAL.lock().unwrap();
            due = (due + interval).max(Instant::now()); // do not catch up
            thread::park_timeout(due - Instant::now());
            due = due.min(Instant::now());
        }
    })
    .thread()
    .clone()
}

fn send() {
    let counts = population::lock().counts;
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
            ("failed", counts.failed.into()),
            ("cancelled", counts.cancelled.into()),
            ("lag", lag::take().into()),
            ("cpu", cpu.into()),
            ("switches", switches.into()),
            ("durations", durations.into()),
            ("delays", delays.into()),
        ],
    );
}
