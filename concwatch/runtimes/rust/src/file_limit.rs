//! The limit on open files. Running tasks hit it, many at once, and each that fails would be replaced by one that
//! fails as well: so the target is lowered while they fail, and that is reported when it is over.

use crate::goal::Goal;

#[derive(Default)]
pub struct FileLimit {
    hit: Option<Hit>,
    recently: bool, // since the last check
}

pub struct Hit {
    /// The target before it was lowered.
    pub wanted: u64,
    /// The one that it was lowered to.
    pub lowered: u64,
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
        });
        self.recently = true;
    }

    /// What is to be reported, once, if no task has failed since the last call, and no other target has been set.
    pub fn over(&mut self, target: u64) -> Option<Hit> {
        if std::mem::take(&mut self.recently) {
            return None;
        }
        self.hit.take().filter(|hit| hit.lowered == target)
    }
}
