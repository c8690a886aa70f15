//! How late the engine wakes sleeping tasks, measured by a task of our own.

use crate::system::{self, Clock};
use std::{sync::Mutex, time::Duration};

/// How long the measuring task sleeps.
pub const STEP: Duration = Duration::from_millis(20);

struct Lag {
    due: Duration,
    worst: Duration,
}

static LAG: Mutex<Lag> = Mutex::new(Lag {
    due: Duration::MAX,
    worst: Duration::ZERO,
});

/// Record that the measuring task has woken, and sleeps again.
pub fn note() {
    let now = system::now(Clock::Monotonic);
    let mut lag = LAG.lock().unwrap();
    lag.worst = lag.worst.max(now.saturating_sub(lag.due));
    lag.due = now + STEP;
}

/// Return the worst delay since the last call, including one overdue now.
pub fn take() -> Duration {
    let mut lag = LAG.lock().unwrap();
    let overdue = system::now(Clock::Monotonic).saturating_sub(lag.due);
    std::mem::take(&mut lag.worst).max(overdue)
}
