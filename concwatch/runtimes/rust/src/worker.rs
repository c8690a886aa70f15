//! The worker's own thread: it holds the target, and only it creates and cancels tasks.

use crate::{
    burst::Burst,
    command::{Command, MOST_TASKS},
    goal::Wanted,
    json::Value,
    life,
    population::{self, BATCH, lock, stop_growing},
    system, tick, wire,
    work::Workload,
};
use std::{
    sync::mpsc::Receiver,
    thread::{self, Thread},
    time::{Duration, Instant},
};

/// The longest that growing or shrinking may delay commands.
const SLICE: Duration = Duration::from_millis(10);
/// How long to wait before checking again whether all have begun.
const MOMENT: Duration = Duration::from_millis(1);

const LARGEST: u64 = 1 << 62;

const KNOWN: &str = "refill, workload, halt, rate, trim, burst, target, stop";

pub struct Worker {
    ticker: Thread,
    commands: Receiver<Command>,
    bursting: Option<Burst>,
}

impl Worker {
    pub fn new(ticker: Thread, commands: Receiver<Command>) -> Self {
        Worker {
            ticker,
            commands,
            bursting: None,
        }
    }

    pub fn control(mut self) -> ! {
        loop {
            while let Ok(command) = self.commands.try_recv() {
                self.handle(&command);
            }
            let patience = self.adjust();
            if !patience.is_zero() {
                thread::park_timeout(patience);
            }
        }
    }

    /// Create or cancel tasks for one slice of time; return how long to wait afterwards.
    fn adjust(&mut self) -> Duration {
        let end = Instant::now() + SLICE;
        while Instant::now() < end && self.go_on() {}
        self.report_reached();
        self.report_burst();
        let population = &mut *lock();
        if population.wanted() != Wanted::Nothing {
            Duration::ZERO
        } else if population.goal.is_met(&population.counts) {
            MOMENT
        } else {
            Duration::MAX
        }
    }

    /// Create or cancel a batch of tasks; return whether there was anything to do.
    fn go_on(&mut self) -> bool {
        let mut population = lock();
        match population.wanted() {
            Wanted::Nothing => return false,
            Wanted::Create(more) => {
                let starts = population.prepare(more.min(BATCH));
                let wanted = population.goal.target;
                drop(population);
                if let Err(why) = population::start(starts) {
                    stop_growing(wanted, "unknown", Value::Null, &why.to_string());
                }
            }
            Wanted::Cancel(excess) => {
                let handles = population.remove(excess.min(BATCH));
                drop(population);
                for handle in handles {
                    handle.cancel();
                }
            }
        }
        true
    }

    fn report_reached(&mut self) {
        let mut population = lock();
        let (counts, target) = (population.counts, population.goal.target);
        let Some(pending) = population.goal.reached(&counts, life::begun()) else {
            return;
        };
        drop(population);
        wire::send(
            "reached",
            &[
                ("target", target.into()),
                ("live", counts.live().into()),
                ("created", (counts.created - pending.created).into()),
                ("cancelled", (counts.cancelled - pending.cancelled).into()),
                ("seconds", pending.at.elapsed().into()),
            ],
        );
        self.ticker.unpark();
    }

    /// Report a burst, once, when its tasks have ended.
    fn report_burst(&mut self) {
        let mut population = lock();
        let over = population.burst_is_over();
        let Some(burst) = self.bursting.take_if(|_| over) else {
            return;
        };
        population.goal.resume();
        drop(population);
        burst.report();
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
            "target" => {
                let tasks = command.whole("tasks", MOST_TASKS)?;
                let population = &mut *lock();
                population
                    .goal
                    .set_target(tasks, &population.counts, command.arrived);
            }
            "refill" => lock().goal.set_refill(command.flag("on")?),
            "workload" => lock().replace(Workload::read(command)?),
            "halt" => {
                let (wall, value) = (command.text("wall")?, command.whole("value", LARGEST)?);
                let target = lock().goal.target;
                stop_growing(target, wall, value.into(), "");
            }
            "rate" => {
                let hz = command.number("hz", 0.1..=100.0, "ticks a second from 0.1 to 100")?;
                tick::set_interval(Duration::from_secs_f64(1.0 / hz));
                self.ticker.unpark();
            }
            "trim" => system::trim(),
            "burst" => self.bursting = Some(Burst::start(command)?),
            _ => {
                let name = Value::from(command.name());
                return Err(format!("unknown command {name}; expected one of {KNOWN}"));
            }
        }
        Ok(())
    }
}
