//! The memory maps that threads use, whose number Linux limits per process.
//!
//! A thread that gets none for its signal stack has been started already: the standard library then
//! aborts the process. So no more threads are started while there are still a few.

use crate::life;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    thread,
    time::Duration,
};

/// Its stack, its signal stack, and a guard page below each.
const A_THREAD: u64 = 4;

/// What a thread that has not begun will take: the maps of its signal stack.
const NOT_BEGUN: u64 = 2;

/// Maps left for other uses.
const SPARED: u64 = 128;

/// How long to wait for the maps of threads that have just ended.
const MOMENT: Duration = Duration::from_millis(50);

#[derive(Default)]
pub struct Maps {
    /// Threads that may be started before the next check, which takes 20 ms with 65,000 maps.
    unseen: u64,
}

impl Maps {
    /// Whether one more thread may be started without a check.
    pub fn has_some(&self) -> bool {
        self.unseen > 0
    }

    /// Reserve what one more thread needs, after so many have been started.
    pub fn take(&mut self, started: u64) -> io::Result<()> {
        let mut before = 0;
        while self.unseen == 0 {
            let free = free(started).unwrap_or(u64::MAX);
            self.unseen = free.saturating_sub(SPARED) / (2 * A_THREAD); // half, then check again
            if self.unseen > 0 {
                break;
            }
            if free <= before {
                return Err(io::Error::other(format!(
                    "of the memory maps, of which a thread takes {A_THREAD}, only {free} are left"
                )));
            }
            before = free;
            thread::sleep(MOMENT);
        }
        self.unseen -= 1;
        Ok(())
    }
}

/// How many are left, if the system reports it.
fn free(started: u64) -> Option<u64> {
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    let limit: u64 = limit.trim().parse().ok()?;
    let maps = BufReader::new(File::open("/proc/self/maps").ok()?);
    let used = maps.split(b'\n').count() as u64;
    let coming = NOT_BEGUN * started.saturating_sub(life::begun());
    Some(limit.saturating_sub(used + coming))
}
