//! What one task does.

use crate::{
    command::Command,
    json::Value,
    system::{self, Clock},
};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

pub const WORDS: &[&str] = &["sleep", "ticks", "hold", "payload", "spin", "nop"];

const LONGEST: f64 = 1e9; // seconds: what can be added to any clock
const GOLDEN: f64 = 0.618_033_988_749_894_9;
const LARGEST: u64 = 1 << 62;

/// How long a task spins before it yields.
const TURN: Duration = Duration::from_millis(1);

#[derive(Clone, Copy)]
pub enum Work {
    Sleep(Duration),
    /// A different sleep for each task, from the first to the second.
    Spread(Duration, Duration),
    Ticks(u64, Duration),
    Hold,
    Payload(usize),
    Spin(Duration),
    Nop,
}

impl Work {
    pub fn read(command: &Command) -> Result<Self, String> {
        let spec = command.text("spec")?;
        let length = |key| {
            command
                .number(key, 0.0..=f64::MAX, "seconds, 0 or more")
                .map(|it| Duration::from_secs_f64(it.min(LONGEST)))
        };
        let seconds = || length("seconds");
        Ok(match command.text("word")? {
            "sleep" if command.has("to") => Work::Spread(seconds()?, length("to")?),
            "sleep" => Work::Sleep(seconds()?),
            "ticks" => Work::Ticks(command.whole("count", LARGEST)?, seconds()?),
            "hold" => Work::Hold,
            "payload" => Work::Payload(command.whole("size", LARGEST)? as usize),
            "spin" => Work::Spin(seconds()?),
            "nop" => Work::Nop,
            _ => {
                return Err(format!(
                    "workload {}: expected one of {}",
                    Value::from(spec),
                    WORDS.join(", ")
                ));
            }
        })
    }

    /// What one task does, with its own duration if they vary.
    pub fn next(self) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        match self {
            Work::Spread(least, most) => {
                let at = (COUNT.fetch_add(1, Relaxed) as f64 * GOLDEN).fract();
                Work::Sleep(least + most.saturating_sub(least).mul_f64(at))
            }
            work => work,
        }
    }
}

/// Memory of that size, written to: zeros would be pages that are never touched.
pub fn touched(size: usize) -> Vec<u8> {
    vec![0xff; size]
}

/// Use CPU time for a turn, or for `left` if that is less; return how much it was.
pub fn spin(left: Duration) -> Duration {
    let began = system::now(Clock::Thread);
    loop {
        let used = system::now(Clock::Thread) - began;
        if used >= left.min(TURN) {
            return used;
        }
    }
}
