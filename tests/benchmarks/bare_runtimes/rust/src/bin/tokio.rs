//! Sleeping tokio tasks; each can be ended by its handle's `abort`.

use bare::{LIVE, asked, report, rss};
use std::{sync::atomic::Ordering::Relaxed, time::Instant};
use tokio::time::sleep;

#[tokio::main]
async fn main() {
    let ((tasks, length), before, began) = (asked(), rss(), Instant::now());
    let _handles: Vec<_> = (0..tasks)
        .map(|_| {
            tokio::spawn(async move {
                LIVE.fetch_add(1, Relaxed);
                sleep(length).await;
            })
        })
        .collect();
    report(tasks, began, before)
}
