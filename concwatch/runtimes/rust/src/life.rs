//! How a task reports that it begins and that it has ended, however it ends.

use crate::timing;
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

type Ended = fn(slot: u32, completed: bool);

static ENDED: OnceLock<Ended> = OnceLock::new();
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Set what each task calls as the last thing it does; a function per task would take more memory.
pub fn connect(ended: Ended) {
    ENDED.set(ended).expect("connected once");
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
        if let Some(ended) = ENDED.get() {
            ended(self.slot, self.completed);
        }
    }
}
