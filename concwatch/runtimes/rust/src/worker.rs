//! The worker's own thread: it holds the target, and only it creates and cancels tasks.

use crate::{
    burst::Burst,
    command::{Command, MOST_TASKS},
    engine::Engine,
    goal::{Counts, Goal, Wanted},
    json::Value,
    life::{self, Event},
    system,
    tasks::Tasks,
    tick,
    timing::{self, TokenBucket},
    wire,
    work::Work,
};
use std::{
    io,
    sync::mpsc::Receiver,
    thread::Thread,
    time::{Duration, Instant},
};

/// The longest that growing or shrinking may delay commands.
const SLICE: Duration = Duration::from_millis(10);
/// Tasks between two checks of the clock.
pub const BATCH: u64 = 256;
/// How long to wait before checking again whether all have begun.
const MOMENT: Duration = Duration::from_millis(1);

const LARGEST: u64 = 1 << 62;

const KNOWN: &str = "refill, workload, halt, rate, trim, burst, target, stop";

pub struct Worker {
    engine: Engine,
    work: Work,
    tasks: Tasks,
    timing: TokenBucket,
    pub counts: Counts,
    pub goal: Goal,
    pub ticker: Thread,
    events: Receiver<Event>,
    pub bursting: Option<Burst>,
}

impl Worker {
    pub fn new(engine: Engine, ticker: Thread, events: Receiver<Event>) -> Self {
        Worker {
            engine,
            work: Work::Hold,
            tasks: Tasks::default(),
            timing: TokenBucket::new(),
            counts: Counts::default(),
            goal: Goal::default(),
            ticker,
            events,
            bursting: None,
        }
    }

    pub fn control(mut self) -> ! {
        loop {
            let patience = self.adjust();
            let mut event = self.events.recv_timeout(patience).ok();
            while let Some(some) = event {
                match some {
                    Event::Command(command) => self.handle(&command),
                    Event::Ended { slot, completed } => self.ended(slot, completed),
                }
                event = self.events.try_recv().ok();
            }
        }
    }

    /// Create or cancel tasks for one slice of time; return how long to wait afterwards.
    fn adjust(&mut self) -> Duration {
        let end = Instant::now() + SLICE;
        while Instant::now() < end && self.go_on() {}
        tick::show(self.counts);
        self.report_reached();
        self.report_burst();
        if self.goal.wanted(&self.counts) != Wanted::Nothing {
            Duration::ZERO
        } else if self.goal.is_met(&self.counts) {
            MOMENT
        } else {
            Duration::MAX
        }
    }

    /// Create or cancel a batch of tasks; return whether there was anything to do.
    fn go_on(&mut self) -> bool {
        match self.goal.wanted(&self.counts) {
            Wanted::Nothing => return false,
            Wanted::Create(more) => {
                let some = more.min(BATCH);
                let timed = self.timing.take(some);
                for i in 0..some {
                    if let Err(why) = self.start(i < timed) {
                        self.stop_growing(
                            self.goal.target,
                            "unknown",
                            Value::Null,
                            &why.to_string(),
                        );
                        break;
                    }
                    self.goal.created();
                }
            }
            Wanted::Cancel(excess) => {
                for _ in 0..excess.min(BATCH) {
                    self.counts.dying += 1;
                    self.tasks.take_any().cancel();
                }
            }
        }
        true
    }

    pub fn start(&mut self, timed: bool) -> io::Result<()> {
        let slot = self.tasks.reserve();
        if timed {
            timing::created(slot);
        }
        match self.engine.start(self.work, slot, timed) {
            Ok(handle) => self.tasks.put(slot, handle),
            Err(why) => {
                self.tasks.release(slot);
                return Err(why);
            }
        }
        self.counts.created += 1;
        Ok(())
    }

    fn ended(&mut self, slot: u32, completed: bool) {
        if self.tasks.release(slot).is_none() {
            self.counts.dying -= 1;
        }
        if completed {
            self.counts.completed += 1;
        } else {
            self.counts.cancelled += 1;
        }
        if self.counts.live() == 0 {
            self.tasks.clear();
        }
    }

    /// Make the live tasks the target, and report what prevents more.
    pub fn stop_growing(&mut self, wanted: u64, wall: &str, value: Value, detail: &str) {
        let standing = self.counts.standing();
        self.goal.settle(standing);
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

    fn report_reached(&mut self) {
        let Some(pending) = self.goal.reached(&self.counts, life::begun()) else {
            return;
        };
        wire::send(
            "reached",
            &[
                ("target", self.goal.target.into()),
                ("live", self.counts.live().into()),
                ("created", (self.counts.created - pending.created).into()),
                (
                    "cancelled",
                    (self.counts.cancelled - pending.cancelled).into(),
                ),
                ("seconds", pending.at.elapsed().into()),
            ],
        );
        self.ticker.unpark();
    }

    fn handle(&mut self, command: &Command) {
        match self.apply(command) {
            Err(why) => wire::refuse(command.name().into(), &why),
            Ok(()) if command.kind == "target" => {}
            Ok(()) => wire::send(
                "applied",
                &[
                    ("command", command.name().into()),
                    ("seconds", command.arrived.elapsed().into()),
                ],
            ),
        }
    }

    fn apply(&mut self, command: &Command) -> Result<(), String> {
        match command.kind.as_str() {
            "target" => self.goal.set_target(
                command.whole("tasks", MOST_TASKS)?,
                &self.counts,
                command.arrived,
            ),
            "refill" => self.goal.set_refill(command.flag("on")?),
            "workload" => {
                self.work = Work::read(command)?;
                self.goal.replace(&self.counts);
            }
            "halt" => {
                let (wall, value) = (command.text("wall")?, command.whole("value", LARGEST)?);
                self.stop_growing(self.goal.target, wall, value.into(), "");
            }
            "rate" => {
                let hz = command.number("hz", 0.1..=100.0, "ticks a second from 0.1 to 100")?;
                tick::set_interval(Duration::from_secs_f64(1.0 / hz));
                self.ticker.unpark();
            }
            "trim" => system::trim(),
            "burst" => self.burst(command)?,
            _ => {
                let name = Value::from(command.name());
                return Err(format!("unknown command {name}: expected one of {KNOWN}"));
            }
        }
        Ok(())
    }
}
