//! What the bare programs share: arguments, commands and counters.

use std::{
    env, io,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

const GOLDEN: f64 = 0.618_033_988_749_894_9;

static ARGUMENTS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let numbers = env::args().skip(1).map(|text| text.parse());
    numbers
        .collect::<Result<_, _>>()
        .expect("usage: NAME TASKS LEAST TO")
});
static BEGUN: AtomicUsize = AtomicUsize::new(0);
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// A task begins: how long it sleeps.
pub fn begin() -> Duration {
    let at = (BEGUN.fetch_add(1, Relaxed) as f64 * GOLDEN).fract();
    let (least, to) = (ARGUMENTS[1], ARGUMENTS[2]);
    Duration::from_secs_f64(least + (to - least) * at)
}

/// A task has ended.
pub fn end() {
    ENDED.fetch_add(1, Relaxed);
}

/// Create all tasks when told to, then print how many have ended whenever asked; until the input ends.
pub fn run(start: impl Fn(usize)) {
    let tasks = ARGUMENTS[0] as usize;
    println!("idle");
    let mut commands = io::stdin().lines();
    commands.next();
    let began = Instant::now();
    (0..tasks).for_each(start);
    while BEGUN.load(Relaxed) < tasks {
        thread::sleep(Duration::from_millis(1));
    }
    println!("live {}", began.elapsed().as_secs_f64());
    for _ in commands {
        println!("ended {}", ENDED.load(Relaxed));
    }
}
