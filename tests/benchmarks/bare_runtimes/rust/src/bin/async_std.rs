//! Sleeping async-std tasks, each replaced by itself as it ends; each can be ended by its handle's `cancel`.

use async_std::task::{JoinHandle, sleep, spawn};
use bare::{begin, end, run};
use std::sync::Mutex;

static TASKS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn start(place: usize) -> JoinHandle<()> {
    spawn(async move {
        sleep(begin()).await;
        end();
        let mut tasks = TASKS.lock().unwrap();
        tasks[place] = start(place);
    })
}

fn main() {
    run(|place| TASKS.lock().unwrap().push(start(place)));
}
