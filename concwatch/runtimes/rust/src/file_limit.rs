//! The limit on open files. Running tasks hit it, many at once, and each that fails would be replaced by one that
//! fails as well: so the target is lowered while they fail, and that is reported when it is over.

use crate::goal::Goal;
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_millis(250); // without a failure, after which it is over

#[derive(Default)]
pub struct FileLimit {
    hit: Option<Hit>,
}

pub struct Hit {
    /// The target before it was lowered.
    pub wanted: u64,
    /// The one that it was lowered to.
    pub lowered: u64,
    /// When it was.
    at: Instant,
}

impl FileLimit {
    /// A task has failed at the limit, and so many are left.
    pub fn hit(&mut self, goal: &mut Goal, standing: u64) {
        if goal.is_paused() || standing >= goal.target {
            return; // a burst, or too many are live, and are being cancelled anyway
        }
        let before = self.hit.take();
        let again = before.filter(|hit| hit.lowered == goal.target);
        let wanted = again.map_or(goal.target, |hit| hit.wanted);
        goal.settle(standing);
        self.hit = Some(Hit {
            wanted,
            lowered: standing,
            at: Instant::now(),
        });
    }

    /// What is to be reported, once, if no task has failed for a while, and no other target has been set.
    pub fn over(&mut self, target: u64) -> Option<Hit> {
        let hit = self.hit.take_if(|hit| hit.at.elapsed() >= QUIET);
        hit.filter(|hit| hit.lowered == target)
    }
}
