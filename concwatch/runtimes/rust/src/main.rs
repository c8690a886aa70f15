//! A worker of concwatch whose tasks are threads, or tasks of tokio or async-std: one engine per build.
//! It speaks the wire that concwatch/portable/protocol/wire.py specifies.

#[cfg(feature = "async-std")]
#[path = "async_std.rs"]
mod executor;
#[cfg(feature = "tokio")]
#[path = "tokio.rs"]
mod executor;

#[cfg(not(feature = "threads"))]
#[path = "futures.rs"]
mod engine;
#[cfg(feature = "threads")]
#[path = "threads.rs"]
mod engine;
#[cfg(feature = "threads")]
mod maps;

mod burst;
mod command;
mod connect;
mod failure;
mod file_limit;
mod goal;
mod json;
mod lag;
mod life;
mod listen;
mod population;
mod system;
mod tasks;
mod tick;
mod timing;
mod version;
mod wire;
mod work;
mod worker;

use std::{env, process, sync::mpsc, thread};

fn main() {
    let Some(name) = env::args().nth(1) else {
        eprintln!("usage: worker ENGINE");
        process::exit(2);
    };
    let input = wire::open().expect("standard input and output");
    let (commands, taken) = mpsc::channel();
    let engine = engine::Engine::new();
    engine.watch();
    wire::send(
        "ready",
        &[
            ("protocol", 1.into()),
            ("engine", name.as_str().into()),
            ("runtime", version::runtime().into()),
            ("flags", engine.flags().into()),
            ("pid", u64::from(process::id()).into()),
            ("can", system::CAN.into()),
            ("workloads", work::WORDS.into()),
        ],
    );
    population::found(engine);
    let ticker = tick::start();
    thread::spawn(move || listen::listen(input, &commands));
    worker::Worker::new(ticker, taken).control()
}
