//! Tasks that fail: the first one of a workload is reported.

use crate::{json::Value, life::End, system, wire};
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

static REPORTED: AtomicBool = AtomicBool::new(false);

/// Report the next one: the workload has changed.
pub fn expect_another() {
    REPORTED.store(false, Relaxed);
}

/// Return how a task that has failed ends. The limit on open files is reported in another way.
pub fn end_of(error: &io::Error) -> End {
    if system::is_too_many_files(error) {
        return End::TooManyFiles;
    }
    if !REPORTED.swap(true, Relaxed) {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection".into(),
            _ => error.to_string(),
        };
        wire::refuse(Value::Null, &format!("a task failed: {why}"));
    }
    End::Failed
}
