//! How a task reports that it begins and that it has ended, however it ends.

use crate::{command::Command, timing};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
    mpsc::Sender,
};

/// What is reported to the worker's own thread.
pub enum Event {
    Command(Box<Command>),
    Ended { slot: u32, completed: bool },
}

static EVENTS: OnceLock<Sender<Event>> = OnceLock::new();
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Set where ends are sent; a sender per task would take more memory.
pub fn connect(events: Sender<Event>) {
    EVENTS.set(events).expect("connected once");
}

/// How many tasks have begun so far, or never will.
pub fn begun() -> u64 {
    BEGUN.load(Relaxed)
}

/// Belongs to a task, and is dropped with it.
pub struct Life {
    slot: u32,
    timed: bool,
    begun: bool,
    completed: bool,
}

impl Life {
    pub fn new(slot: u32, timed: bool) -> Self {
        Life {
            slot,
            timed,
            begun: false,
            completed: false,
        }
    }

    pub fn begin(&mut self) {
        self.begun = true;
        if self.timed {
            timing::begun(self.slot);
        }
        BEGUN.fetch_add(1, Relaxed);
    }

    /// The task has completed.
    pub fn complete(mut self) {
        self.completed = true;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if !self.begun {
            BEGUN.fetch_add(1, Relaxed); // cancelled before its first step
        }
        if self.timed {
            timing::ended(self.slot, self.completed);
        }
        if let Some(events) = EVENTS.get() {
            let _ = events.send(Event::Ended {
                slot: self.slot,
                completed: self.completed,
            });
        }
    }
}
