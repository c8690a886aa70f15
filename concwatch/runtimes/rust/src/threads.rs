//! The engine whose tasks are system threads, with the standard library's default stack.

use crate::{
    lag,
    life::Life,
    maps::Maps,
    work::{self, Work},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

#[derive(Default)]
pub struct Engine {
    maps: Mutex<Maps>,
    started: AtomicU64,
}

/// A sleeping thread is parked, so that it can be woken early.
pub struct Handle {
    thread: Thread,
    quit: Arc<Quit>,
}

impl Handle {
    pub fn cancel(self) {
        self.quit.0.store(true, Relaxed);
        self.thread.unpark();
    }
}

impl Engine {
    pub fn new() -> Self {
        Engine::default()
    }

    pub fn flags(&self) -> Vec<String> {
        Vec::new()
    }

    pub fn watch(&self) {
        thread::spawn(|| {
            loop {
                lag::note();
                thread::sleep(lag::STEP);
            }
        });
    }

    /// Whether a thread that ends may start its successor, while so many are missing. If more than that are, the
    /// processor is busy: the worker's own thread then starts them, which would otherwise wait for its turn behind
    /// them all. That thread also waits for the maps of those that end.
    pub fn may_succeed(&self, missing: u64) -> bool {
        missing == 1 && self.maps.try_lock().is_ok_and(|maps| maps.has_some())
    }

    pub fn start(&self, work: Work, slot: u32, timed: bool) -> io::Result<Handle> {
        self.maps.lock().unwrap().take(self.started.load(Relaxed))?;
        let quit = Arc::new(Quit(AtomicBool::new(false)));
        let task = Arc::clone(&quit);
        let thread = thread::Builder::new().spawn(move || {
            let mut life = Life::new(slot, timed);
            life.begin();
            if task.run(work).is_some() {
                life.complete();
            }
        })?;
        self.started.fetch_add(1, Relaxed);
        Ok(Handle {
            thread: thread.thread().clone(),
            quit,
        })
    }
}

/// Whether a task has been cancelled; its body returns `None` as soon as it sees that.
struct Quit(AtomicBool);

impl Quit {
    fn run(&self, work: Work) -> Option<()> {
        match work {
            Work::Sleep(length) => self.sleep(length),
            Work::Ticks(count, length) => (0..count).try_for_each(|_| self.sleep(length)),
            Work::Hold => self.hold(),
            Work::Payload(size) => {
                let _held = work::touched(size);
                self.hold()
            }
            Work::Spin(total) => {
                let mut used = Duration::ZERO;
                while used < total {
                    self.check()?;
                    used += work::spin(total - used);
                }
                Some(())
            }
            Work::Nop => Some(()),
        }
    }

    fn check(&self) -> Option<()> {
        (!self.0.load(Relaxed)).then_some(())
    }

    fn sleep(&self, length: Duration) -> Option<()> {
        let end = Instant::now() + length;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(());
            }
            thread::park_timeout(left);
        }
    }

    fn hold(&self) -> Option<()> {
        loop {
            self.check()?;
            thread::park();
        }
    }
}
