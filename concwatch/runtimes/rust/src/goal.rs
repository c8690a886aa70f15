//! The target and the counters: plain arithmetic.

use crate::life::End;
use std::time::Instant;

/// The counters of a worker; the first four are cumulative.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub created: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// About to be created.
    pub starting: u64,
    /// Being cancelled, and not yet ended.
    pub dying: u64,
}

impl Counts {
    pub fn live(&self) -> u64 {
        self.created - self.completed - self.failed - self.cancelled
    }

    /// Those live and those starting.
    pub fn present(&self) -> u64 {
        self.live() + self.starting
    }

    /// Of these, the ones that are not being cancelled.
    pub fn standing(&self) -> u64 {
        self.present() - self.dying
    }

    /// One has ended.
    pub fn ended(&mut self, end: End) {
        match end {
            End::Completed => self.completed += 1,
            End::Failed | End::TooManyFiles => self.failed += 1,
            End::Cancelled => self.cancelled += 1,
        }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    Nothing,
    Create(u64),
    Cancel(u64),
}

/// The counters when a target arrived.
#[derive(Clone, Copy)]
pub struct Pending {
    pub at: Instant,
    pub created: u64,
    pub cancelled: u64,
}

#[derive(Default)]
pub struct Goal {
    pub target: u64,
    once: bool,      // no refill: a task that ends is not replaced
    left: u64,       // without refill: tasks of the target still to be created
    due: u64,        // the value of `created` at which the target is met
    replacing: bool, // live tasks are cancelled first: the workload has changed
    paused: bool,
    pending: Option<Pending>,
}

impl Goal {
    pub fn set_target(&mut self, target: u64, counts: &Counts, at: Instant) {
        let standing = if self.replacing { 0 } else { counts.standing() };
        self.target = target;
        self.left = target.saturating_sub(standing);
        let created = counts.created + counts.starting;
        self.due = created + self.left;
        self.pending = Some(Pending {
            at,
            created,
            cancelled: counts.cancelled,
        });
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub fn set_refill(&mut self, on: bool) {
        self.once = !on;
        self.left = 0;
    }

    pub fn replace(&mut self, counts: &Counts) {
        // Tasks that an earlier change is still cancelling are already among those left to create.
        if !self.replacing {
            let again = counts.standing().min(self.target.saturating_sub(self.left));
            self.left += again;
            self.due += again;
        }
        self.replacing = counts.present() > 0;
    }

    /// Lower the target to what is live, to stop growth.
    pub fn settle(&mut self, standing: u64) {
        self.target = self.target.min(standing);
        self.left = 0;
        self.pending = None;
    }

    /// Stop creating and cancelling tasks: a burst manages its own.
    pub fn pause(&mut self, tasks: u64) {
        (self.target, self.paused) = (tasks, true);
    }

    /// Hold a target again, initially 0: the burst has ended.
    pub fn resume(&mut self) {
        (self.target, self.paused) = (0, false);
    }

    /// A task is about to be created.
    pub fn starts(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// It could not be created.
    pub fn did_not_start(&mut self) {
        self.left += u64::from(self.once);
    }

    pub fn wanted(&mut self, counts: &Counts) -> Wanted {
        if self.paused {
            return Wanted::Nothing;
        }
        self.replacing &= counts.present() > 0;
        let kept = if self.replacing { 0 } else { self.target };
        let room = kept.saturating_sub(counts.present()); // those being cancelled end before others are created
        let excess = counts.standing().saturating_sub(kept);
        match excess.min(counts.standing() - counts.starting) {
            0 => match if self.once { room.min(self.left) } else { room } {
                0 => Wanted::Nothing,
                more => Wanted::Create(more),
            },
            excess => Wanted::Cancel(excess),
        }
    }

    /// Whether the target is met and has not been reported yet.
    pub fn is_met(&self, counts: &Counts) -> bool {
        self.pending.is_some() && counts.created >= self.due && counts.present() <= self.target
    }

    /// The target to report, once, when it is met and enough tasks have begun.
    pub fn reached(&mut self, counts: &Counts, begun: u64) -> Option<Pending> {
        let reached = self.is_met(counts) && begun >= self.due;
        self.pending.take_if(|_| reached)
    }
}
