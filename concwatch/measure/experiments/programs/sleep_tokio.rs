// As published: N tokio tasks that sleep ten seconds. Its attribute for main would need another package.
use std::time::Duration;
use tokio::{runtime, task, time};

async fn start(num_tasks: usize) {
    let mut tasks = Vec::new();
    for _ in 0..num_tasks {
        tasks.push(task::spawn(async {
            time::sleep(Duration::from_secs(10)).await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

fn main() {
    let num_tasks = std::env::args().nth(1).unwrap().parse().unwrap();
    let runtime = runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(start(num_tasks));
}
