//! Sleeping threads, each replaced by itself as it ends; each can be ended by setting its flag and unparking it.

use bare::{begin, end, run};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::Instant,
};

type Handle = (Thread, Arc<AtomicBool>);

static THREADS: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

fn start(place: usize) -> Handle {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || {
        let due = Instant::now() + begin();
        while Instant::now() < due {
            if stopped.load(Relaxed) {
                return;
            }
            thread::park_timeout(due - Instant::now());
        }
        end();
        let mut threads = THREADS.lock().unwrap();
        threads[place] = start(place);
    });
    (thread.thread().clone(), stop)
}

fn main() {
    run(|place| THREADS.lock().unwrap().push(start(place)));
}
