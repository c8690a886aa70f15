//! The tasks and their target, shared by the worker's own thread and by the tasks: one that ends by itself
//! starts its successor, since waking another thread for that would cost more than a short task.

use crate::{
    engine::{Engine, Handle},
    failure,
    file_limit::{FileLimit, Hit},
    goal::{Counts, Goal, Wanted},
    json::Value,
    life::{self, End},
    system,
    tasks::{Tasks, Was},
    timing::{self, TokenBucket},
    wire,
    work::{Work, Workload},
};
use std::{
    io,
    sync::{Mutex, MutexGuard, OnceLock},
    thread::{self, Thread},
};

/// Tasks that are started or cancelled between two checks of the clock.
pub const BATCH: u64 = 256;

pub struct Population {
    pub counts: Counts,
    pub goal: Goal,
    workload: Workload,
    tasks: Tasks,
    timing: TokenBucket,
    files: FileLimit,
}

struct Shared {
    engine: Engine,
    population: Mutex<Population>, // never locked while a task is started or cancelled, which takes longer
    worker: Thread,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// Start with no task; the calling thread is the one to wake when there is something to do.
pub fn found(engine: Engine) {
    let population = Mutex::new(Population {
        counts: Counts::default(),
        goal: Goal::default(),
        workload: Workload::Same(Work::Hold),
        tasks: Tasks::default(),
        timing: TokenBucket::new(),
        files: FileLimit::default(),
    });
    let worker = thread::current();
    let shared = Shared {
        engine,
        population,
        worker,
    };
    assert!(SHARED.set(shared).is_ok(), "founded once");
    life::connect(ended);
}

fn shared() -> &'static Shared {
    SHARED.get().expect("founded")
}

pub fn lock() -> MutexGuard<'static, Population> {
    shared().population.lock().unwrap()
}

/// Let the worker's own thread look for something to do.
pub fn wake() {
    shared().worker.unpark();
}

/// Make the live tasks the target, and report what prevents more.
pub fn stop_growing(wanted: u64, wall: &str, value: Value, detail: &str) {
    let standing = lock().settle();
    report_limit(standing, wanted, wall, value, detail);
}

fn report_limit(standing: u64, wanted: u64, wall: &str, value: Value, detail: &str) {
    wire::send(
        "limit",
        &[
            ("standing", standing.into()),
            ("wanted", wanted.into()),
            ("wall", wall.into()),
            ("value", value),
            ("detail", detail.into()),
        ],
    );
}

/// Report the limit on open files, if tasks have hit it, but none for a while.
pub fn check_file_limit() {
    let mut population = lock();
    let target = population.goal.target;
    let over = population.files.over(target);
    drop(population);
    if let Some(Hit { wanted, lowered, .. }) = over {
        let value = system::open_file_limit().into();
        report_limit(lowered, wanted, "ulimit -n", value, "too many open files");
    }
}

/// A task that is about to start.
pub struct Start {
    slot: u32,
    work: Work,
    timed: bool,
}

/// Start tasks; after the first that fails, none.
pub fn start(starts: Vec<Start>) -> io::Result<()> {
    let engine = &shared().engine;
    let mut failure = Ok(());
    let mut started = Vec::with_capacity(starts.len());
    for Start { slot, work, timed } in starts {
        let handle = failure.is_ok().then(|| engine.start(work, slot, timed));
        let handle = handle.transpose().unwrap_or_else(|why| {
            failure = Err(why);
            None
        });
        started.push((slot, handle));
    }
    let mut population = lock();
    for (slot, handle) in started.into_iter().rev() {
        population.started(slot, handle);
    }
    failure
}

/// A task has ended: start its successor if there is to be one.
fn ended(slot: u32, end: End) {
    let mut population = lock();
    let successor = population.ended(slot, end);
    population.wake_if_needed();
    drop(population);
    if let Some(Start { slot, work, timed }) = successor {
        let handle = shared().engine.start(work, slot, timed);
        let mut population = lock();
        population.started(slot, handle.ok()); // if it failed, the worker's thread tries again and reports it
        population.wake_if_needed();
    }
}

impl Population {
    pub fn wanted(&mut self) -> Wanted {
        self.goal.wanted(&self.counts)
    }

    /// Replace all tasks by others.
    pub fn replace(&mut self, workload: Workload) {
        self.workload = workload;
        failure::expect_another();
        self.goal.replace(&self.counts);
    }

    /// Lower the target to the tasks there are, and return their number.
    fn settle(&mut self) -> u64 {
        let standing = self.counts.standing();
        self.goal.settle(standing);
        standing
    }

    /// Hold no target until a burst of so many tasks is over; return how many were created before.
    pub fn begin_burst(&mut self, tasks: u64) -> u64 {
        self.goal.pause(tasks);
        self.counts.created
    }

    pub fn burst_is_over(&self) -> bool {
        self.goal.is_paused() && self.counts.present() == 0
    }

    /// Count so many tasks, which the caller then starts.
    pub fn prepare(&mut self, tasks: u64) -> Vec<Start> {
        let timed = self.timing.take(tasks);
        (0..tasks).map(|i| self.prepare_one(i < timed)).collect()
    }

    /// The same for tasks of a burst, of which none is timed.
    pub fn prepare_untimed(&mut self, tasks: u64) -> Vec<Start> {
        (0..tasks).map(|_| self.prepare_one(false)).collect()
    }

    fn prepare_one(&mut self, timed: bool) -> Start {
        let slot = self.tasks.reserve();
        if timed {
            timing::created(slot);
        }
        self.counts.starting += 1;
        self.goal.starts();
        let work = self.workload.next(self.goal.target, timed);
        Start { slot, work, timed }
    }

    /// A task has started, or could not.
    fn started(&mut self, slot: u32, handle: Option<Handle>) {
        self.counts.starting -= 1;
        let Some(handle) = handle else {
            self.goal.did_not_start();
            return self.tasks.give_up(slot);
        };
        self.counts.created += 1;
        if let Some(end) = self.tasks.put(slot, handle) {
            self.count(end);
        }
    }

    /// Count a task that has ended.
    fn count(&mut self, end: End) {
        self.counts.ended(end);
        if end == End::TooManyFiles {
            self.files.hit(&mut self.goal, self.counts.standing());
        }
    }

    /// A task has ended; return its successor if there is to be one.
    fn ended(&mut self, slot: u32, end: End) -> Option<Start> {
        match self.tasks.end(slot, end) {
            Was::Starting => return None, // counted when its start is
            Was::Live => {}
            Was::Dying => self.counts.dying -= 1,
        }
        self.count(end);
        if end == End::Completed
            && let Wanted::Create(more) = self.wanted()
            && shared().engine.may_succeed(more + self.counts.starting)
        {
            let timed = self.timing.take(1) > 0;
            return Some(self.prepare_one(timed));
        }
        if self.counts.present() == 0 {
            self.tasks.clear();
        }
        None
    }

    /// Remove the handles of so many tasks, which the caller then cancels.
    pub fn remove(&mut self, tasks: u64) -> Vec<Handle> {
        self.counts.dying += tasks;
        (0..tasks).map(|_| self.tasks.take_any()).collect()
    }

    fn wake_if_needed(&mut self) {
        let needed = self.wanted() != Wanted::Nothing
            || self.goal.is_met(&self.counts)
            || self.burst_is_over();
        if needed {
            wake();
        }
    }
}
