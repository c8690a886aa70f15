//! The handles of all live tasks, each in a slot whose number its task knows.

use crate::{
    engine::Handle,
    life::{End, SLOTS},
};

/// A slot is empty while its task is starting or being cancelled, and free once it has ended.
#[derive(Default)]
pub struct Tasks {
    slots: Vec<Option<Handle>>,
    free: Vec<u32>,
    starting: Vec<Starting>, // few: what is being started right now
    cursor: usize,
}

struct Starting {
    slot: u32,
    /// How it ended, if it has before its handle was here.
    ended: Option<End>,
}

/// What a task was when it ended.
pub enum Was {
    Starting,
    Live,
    Dying,
}

impl Tasks {
    /// Return the slot of a task that is about to start.
    pub fn reserve(&mut self) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots.len() as u32;
            assert!(slot < SLOTS, "more tasks than slots");
            self.slots.push(None);
            slot
        });
        self.starting.push(Starting { slot, ended: None });
        slot
    }

    /// Keep the handle of a task that has started; if the task has ended already, return how.
    pub fn put(&mut self, slot: u32, handle: Handle) -> Option<End> {
        let ended = self
            .find(slot)
            .and_then(|at| self.starting.swap_remove(at).ended);
        match ended {
            None => self.slots[slot as usize] = Some(handle),
            Some(_) => self.free.push(slot),
        }
        ended
    }

    /// Free the slot of a task that could not start.
    pub fn give_up(&mut self, slot: u32) {
        if let Some(at) = self.find(slot) {
            self.starting.swap_remove(at);
        }
        self.free.push(slot);
    }

    /// A task has ended: free its slot, but that of one that is starting only when its handle is put.
    pub fn end(&mut self, slot: u32, end: End) -> Was {
        let handle = self.slots[slot as usize].take();
        if handle.is_none()
            && let Some(at) = self.find(slot)
        {
            self.starting[at].ended = Some(end);
            return Was::Starting;
        }
        self.free.push(slot);
        if handle.is_some() {
            Was::Live
        } else {
            Was::Dying
        }
    }

    fn find(&self, slot: u32) -> Option<usize> {
        self.starting.iter().rposition(|it| it.slot == slot)
    }

    /// Remove and return some task's handle; there must be one.
    pub fn take_any(&mut self) -> Handle {
        loop {
            self.cursor = self.cursor.checked_sub(1).unwrap_or(self.slots.len() - 1);
            if let Some(handle) = self.slots.get_mut(self.cursor).and_then(Option::take) {
                return handle;
            }
        }
    }

    /// Free the memory; no task may be left.
    pub fn clear(&mut self) {
        *self = Tasks::default();
    }
}
