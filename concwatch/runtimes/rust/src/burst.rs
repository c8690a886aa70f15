//! Tasks that run to their end, created without a pause as a plain program would.

use crate::{
    command::{Command, MOST_TASKS},
    json::Value,
    population::{self, BATCH, lock, stop_growing},
    system::{self, Clock},
    wire,
};
use std::time::{Duration, Instant};

/// A burst whose tasks have been created.
pub struct Burst {
    tasks: u64,
    began: Instant,
    used: Duration, // CPU time of the process until then
    created: Duration,
    created_cpu: Duration,
}

impl Burst {
    /// Create the tasks of a burst; no target is held until they have ended.
    pub fn start(command: &Command) -> Result<Self, String> {
        let (live, target) = {
            let population = lock();
            (population.counts.present(), population.goal.target)
        };
        if live > 0 || target > 0 {
            return Err(format!(
                "{live} tasks are live; a burst needs none, and a target of 0"
            ));
        }
        let tasks = command.whole("tasks", MOST_TASKS)?;
        let parts = command.whole("chunks", MOST_TASKS)?;
        if parts > 1 || command.whole("older", MOST_TASKS)? > 0 || command.has("read_after") {
            return Err("a burst here has one part, none that are older, and no reading".into());
        }
        let before = lock().begin_burst(tasks);
        let (began, used) = (Instant::now(), system::now(Clock::Process));
        let mut left = tasks;
        while left > 0 {
            let batch = left.min(BATCH);
            left -= batch;
            let starts = lock().prepare_untimed(batch);
            if let Err(why) = population::start(starts) {
                stop_growing(tasks, "unknown", Value::Null, &why.to_string());
                break;
            }
        }
        Ok(Burst {
            tasks: lock().counts.created - before,
            began,
            used,
            created: began.elapsed(),
            created_cpu: system::now(Clock::Process) - used,
        })
    }

    /// Report a burst whose tasks have ended.
    pub fn report(self) {
        wire::send(
            "burst",
            &[
                ("tasks", self.tasks.into()),
                ("create_seconds", self.created.into()),
                ("create_cpu", self.created_cpu.into()),
                ("seconds", self.began.elapsed().into()),
                ("cpu", (system::now(Clock::Process) - self.used).into()),
                ("live", Value::Null),
                ("traced", Value::Null),
            ],
        );
    }
}
