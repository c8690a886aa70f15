//! Sleeping tokio tasks, each replaced by itself as it ends; each can be ended by its handle's `abort`.

use bare::{begin, end, run};
use std::sync::Mutex;
use tokio::{task::JoinHandle, time::sleep};

static TASKS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn start(place: usize) -> JoinHandle<()> {
    tokio::spawn(async move {
        sleep(begin()).await;
        end();
        let mut tasks = TASKS.lock().unwrap();
        tasks[place] = start(place);
    })
}

#[tokio::main]
async fn main() {
    run(|place| TASKS.lock().unwrap().push(start(place)));
}
