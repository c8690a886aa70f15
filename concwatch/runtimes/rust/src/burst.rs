//! Tasks that run to their end, created without a pause as a plain program would.

use crate::{
    command::{Command, MOST_TASKS},
    json::Value,
    population::{self, lock},
    system::{self, Clock},
    wire,
    worker::{BATCH, Worker},
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

impl Worker {
    /// Create the tasks of a burst; no target is held until they have ended.
    pub fn burst(&mut self, command: &Command) -> Result<(), String> {
        let (live, target) = {
            let population = lock();
            (population.counts.present(), population.goal.target)
        };
        if live > 0 || target > 0 {
            return Err(format!(
                "{live} tasks are live: a burst expects none, and a target of 0"
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
                self.stop_growing(tasks, "unknown", Value::Null, &why.to_string());
                break;
            }
        }
        self.bursting = Some(Burst {
            tasks: lock().counts.created - before,
            began,
            used,
            created: began.elapsed(),
            created_cpu: system::now(Clock::Process) - used,
        });
        Ok(())
    }

    /// Report a burst, once, when its tasks have ended.
    pub fn report_burst(&mut self) {
        let mut population = lock();
        let over = population.burst_is_over();
        let Some(burst) = self.bursting.take_if(|_| over) else {
            return;
        };
        population.goal.resume();
        drop(population);
        wire::send(
            "burst",
            &[
                ("tasks", burst.tasks.into()),
                ("create_seconds", burst.created.into()),
                ("create_cpu", burst.created_cpu.into()),
                ("seconds", burst.began.elapsed().into()),
                ("cpu", (system::now(Clock::Process) - burst.used).into()),
                ("live", Value::Null),
                ("traced", Value::Null),
            ],
        );
        self.ticker.unpark();
    }
}
