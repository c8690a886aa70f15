//! Sleeping async-std tasks; each can be ended by its handle's `cancel`.

use async_std::task::{block_on, sleep, spawn};
use bare::{LIVE, asked, report, rss};
use std::{sync::atomic::Ordering::Relaxed, time::Instant};

fn main() {
    block_on(async {
        let ((tasks, length), before, began) = (asked(), rss(), Instant::now());
        let _handles: Vec<_> = (0..tasks)
            .map(|_| {
                spawn(async move {
                    LIVE.fetch_add(1, Relaxed);
                    sleep(length).await;
                })
            })
            .collect();
        report(tasks, began, before)
    })
}
