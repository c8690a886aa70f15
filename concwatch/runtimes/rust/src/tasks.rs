//! The handles of all live tasks, each in a slot whose number its task knows.

use crate::engine::Handle;

/// A slot is empty while its task is being cancelled, and free once it has ended.
#[derive(Default)]
pub struct Tasks {
    slots: Vec<Option<Handle>>,
    free: Vec<u32>,
    cursor: usize,
}

impl Tasks {
    pub fn reserve(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer tasks than 2^32")
        })
    }

    pub fn put(&mut self, slot: u32, handle: Handle) {
        self.slots[slot as usize] = Some(handle);
    }

    /// Free a slot; return what was in it.
    pub fn release(&mut self, slot: u32) -> Option<Handle> {
        self.free.push(slot);
        self.slots[slot as usize].take()
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
