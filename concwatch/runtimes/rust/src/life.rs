//! How a task reports that it begins and that it has ended, however it ends.

use crate::{failure, timing};
use std::{
    io, mem,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// How a task has ended.
#[derive(Clone, Copy, PartialEq)]
pub enum End {
    Completed,
    Failed,
    /// It failed because too many files are open.
    TooManyFiles,
    Cancelled,
}

type Ended = fn(slot: u32, end: End);

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

/// Belongs to a task, and is dropped with it: the number of its slot, and two flags. One word, since each of a
/// million tasks has one.
pub struct Life(u32);

const TIMED: u32 = 1 << 31;
const HAS_BEGUN: u32 = 1 << 30;
pub const SLOTS: u32 = 1 << 30;

impl Life {
    pub fn new(slot: u32, timed: bool) -> Self {
        Life(if timed { slot | TIMED } else { slot })
    }

    pub fn begin(&mut self) {
        self.0 |= HAS_BEGUN;
        if self.has(TIMED) {
            timing::begun(self.slot());
        }
        BEGUN.fetch_add(1, Relaxed);
    }

    /// The task has completed.
    pub fn complete(self) {
        self.end(End::Completed);
        mem::forget(self);
    }

    /// The task has failed.
    pub fn fail(self, error: &io::Error) {
        self.end(failure::end_of(error)); // reported before the count that refers to it
        mem::forget(self);
    }

    fn end(&self, end: End) {
        if self.has(TIMED) {
            timing::ended(self.slot(), end == End::Completed);
        }
        if let Some(ended) = ENDED.get() {
            ended(self.slot(), end);
        }
    }

    fn slot(&self) -> u32 {
        self.0 & (SLOTS - 1)
    }

    fn has(&self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

impl Drop for Life {
    /// The task has been cancelled.
    fn drop(&mut self) {
        if !self.has(HAS_BEGUN) {
            BEGUN.fetch_add(1, Relaxed); // it never will
        }
        self.end(End::Cancelled);
    }
}
