// As published: N operating system threads that sleep ten seconds.
use std::thread;
use std::time::Duration;

fn main() {
    let num_threads: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut handles = Vec::new();
    for _ in 0..num_threads {
        let handle = thread::spawn(|| {
            thread::sleep(Duration::from_secs(10));
        });
        handles.push(handle);
    }
    for handle in handles {
        handle.join().unwrap();
    }
}
