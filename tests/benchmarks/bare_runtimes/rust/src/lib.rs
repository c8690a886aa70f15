//! The arguments and output of the bare programs.

use std::{
    env, fs, process,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Tasks that have begun.
pub static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The number of tasks, and how long each sleeps: 1,000 s by default.
pub fn asked() -> (usize, Duration) {
    let mut arguments = env::args().skip(1);
    let tasks = arguments.next().and_then(|text| text.parse().ok());
    let seconds = arguments.next().and_then(|text| text.parse().ok());
    (
        tasks.expect("usage: NAME TASKS [SECONDS]"),
        Duration::from_secs(seconds.unwrap_or(1000)),
    )
}

pub fn rss() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Wait until all are live, print the results, and exit without waiting for the tasks.
pub fn report(tasks: usize, began: Instant, rss_before: usize) -> ! {
    while LIVE.load(Relaxed) < tasks {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (seconds, rss) = (began.elapsed().as_secs_f64(), rss());
    println!(r#"{{"seconds": {seconds}, "rss_before": {rss_before}, "rss": {rss}}}"#);
    process::exit(0)
}
