// As published, though not quoted there: N async-std tasks that sleep ten seconds.
use async_std::task;
use std::time::Duration;

async fn start(num_tasks: usize) {
    let mut tasks = Vec::new();
    for _ in 0..num_tasks {
        tasks.push(task::spawn(async {
            task::sleep(Duration::from_secs(10)).await;
        }));
    }
    for task in tasks {
        task.await;
    }
}

fn main() {
    task::block_on(start(std::env::args().nth(1).unwrap().parse().unwrap()));
}
