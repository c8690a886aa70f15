//! Sleeping threads; each can be ended by setting `STOP` and unparking it.

use bare::{LIVE, asked, report, rss};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Instant,
};

static STOP: AtomicBool = AtomicBool::new(false);

fn main() {
    let ((tasks, length), before, began) = (asked(), rss(), Instant::now());
    let _handles: Vec<_> = (0..tasks)
        .map(|_| {
            thread::spawn(move || {
                LIVE.fetch_add(1, Relaxed);
                let end = Instant::now() + length;
                while !STOP.load(Relaxed) && Instant::now() < end {
                    thread::park_timeout(end - Instant::now());
                }
            })
        })
        .collect();
    report(tasks, began, before)
}
