//! What one task does.

use crate::{
    command::Command,
    json::Value,
    system::{self, Clock},
};
use std::time::Duration;

pub const WORDS: &[&str] = &["sleep", "ticks", "hold", "payload", "spin", "nop"];

const LONGEST: f64 = 1e9; // seconds: what can be added to any clock
const LARGEST: u64 = 1 << 62;

/// How long a task spins before others get their turn.
const TURN: Duration = Duration::from_millis(1);

#[derive(Clone, Copy)]
pub enum Work {
    Sleep(Duration),
    Ticks(u64, Duration),
    Hold,
    Payload(usize),
    Spin(Duration),
    Nop,
}

impl Work {
    pub fn read(command: &Command) -> Result<Self, String> {
        let spec = command.text("spec")?;
        let seconds = || {
            command
                .number("seconds", 0.0..=f64::MAX, "seconds, 0 or more")
                .map(|it| Duration::from_secs_f64(it.min(LONGEST)))
        };
        Ok(match command.text("word")? {
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
}

/// Memory of that size that has been written to: zeros would be pages that nobody ever touched.
pub fn touched(size: usize) -> Vec<u8> {
    vec![0xff; size]
}

/// Use CPU time for a turn, or for `left` where that is less; give how much it was.
pub fn spin(left: Duration) -> Duration {
    let began = system::now(Clock::Thread);
    loop {
        let used = system::now(Clock::Thread) - began;
        if used >= left.min(TURN) {
            return used;
        }
    }
}
