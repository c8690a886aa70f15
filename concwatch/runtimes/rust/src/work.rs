//! What the tasks do.

use crate::{
    command::Command,
    connect::Server,
    json::Value,
    system::{self, Clock},
};
use std::{net::SocketAddrV4, time::Duration};

pub const WORDS: &[&str] = &[
    "sleep", "churn", "ticks", "hold", "payload", "spin", "nop", "connect",
];

const LONGEST: f64 = 1e9; // seconds: what can be added to any clock
const LONGEST_DRAWN: f64 = 1e6;
const SHORTEST_MEAN: f64 = 0.001;
const MOST_A_SECOND: f64 = 1e6;
const GOLDEN: f64 = 0.618_033_988_749_894_9;
const LARGEST: u64 = 1 << 62;

/// How long a task spins before it yields.
const TURN: Duration = Duration::from_millis(1);

/// What one task does.
#[derive(Clone, Copy)]
pub enum Work {
    Sleep(Duration),
    Ticks(u64, Duration),
    Hold,
    Payload(usize),
    Spin(Duration),
    Nop,
    /// Hold a connection; send a line that often, or once.
    Connect(SocketAddrV4, Option<Duration>),
}

/// How long each of many tasks sleeps.
pub enum Lengths {
    /// Spread evenly from the first to the second.
    Even(Duration, Duration),
    /// Exponentially distributed, so that about so many tasks a second end.
    Churn(f64),
}

impl Lengths {
    /// The one below which a share `at` of them are, while there are so many tasks.
    fn draw(&self, at: f64, tasks: u64) -> Duration {
        match *self {
            Lengths::Even(least, most) => least + most.saturating_sub(least).mul_f64(at),
            Lengths::Churn(rate) => {
                let mean = (tasks.max(1) as f64 / rate).max(SHORTEST_MEAN);
                Duration::from_secs_f64((-mean * (-at).ln_1p()).min(LONGEST_DRAWN))
            }
        }
    }
}

/// What all tasks do: the same, or each sleeps for a time or connects to an address of its own.
pub enum Workload {
    Same(Work),
    Sleeps {
        lengths: Lengths,
        drawn: [u32; 2], // so far: for tasks that are not timed, and for those that are
    },
    Connects(Server, Option<Duration>),
}

impl Workload {
    pub fn read(command: &Command) -> Result<Self, String> {
        let spec = command.text("spec")?;
        let length = |key| {
            command
                .number(key, 0.0..=f64::MAX, "seconds, 0 or more")
                .map(|it| Duration::from_secs_f64(it.min(LONGEST)))
        };
        let seconds = || length("seconds");
        Ok(Workload::Same(match command.text("word")? {
            "sleep" if command.has("to") => {
                return Ok(Lengths::Even(seconds()?, length("to")?).into());
            }
            "churn" => {
                let expected = "tasks a second, more than 0 and at most 1,000,000";
                let rate = command.number("rate", f64::MIN_POSITIVE..=MOST_A_SECOND, expected)?;
                return Ok(Lengths::Churn(rate).into());
            }
            "sleep" => Work::Sleep(seconds()?),
            "ticks" => Work::Ticks(command.whole("count", LARGEST)?, seconds()?),
            "hold" => Work::Hold,
            "payload" => Work::Payload(command.whole("size", LARGEST)? as usize),
            "spin" => Work::Spin(seconds()?),
            "nop" => Work::Nop,
            "connect" => {
                let interval = command.has("seconds").then(seconds).transpose()?;
                return Ok(Workload::Connects(Server::read(command)?, interval));
            }
            _ => {
                return Err(format!(
                    "unknown workload {}; expected one of {}",
                    Value::from(spec),
                    WORDS.join(", ")
                ));
            }
        }))
    }

    /// What the next task does, of so many. The timed ones are a sample: their lengths are as even as all.
    pub fn next(&mut self, tasks: u64, timed: bool) -> Work {
        match self {
            Workload::Same(work) => *work,
            Workload::Connects(server, interval) => Work::Connect(server.next(), *interval),
            Workload::Sleeps { lengths, drawn } => {
                let count = &mut drawn[usize::from(timed)];
                let at = (f64::from(*count) * GOLDEN).fract();
                *count = count.wrapping_add(1);
                Work::Sleep(lengths.draw(at, tasks))
            }
        }
    }
}

impl From<Lengths> for Workload {
    fn from(lengths: Lengths) -> Self {
        let drawn = [0; 2];
        Workload::Sleeps { lengths, drawn }
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
