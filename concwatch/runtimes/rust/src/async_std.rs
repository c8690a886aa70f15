//! async-std's executor with its defaults. The project was discontinued in March 2025.

use async_std::task::{self, JoinHandle};
use std::{
    env,
    pin::pin,
    task::{Context, Waker},
    thread,
};

pub use async_std::{
    io::{ReadExt as AsyncReadExt, WriteExt as AsyncWriteExt},
    net::TcpStream,
    task::{sleep, yield_now},
};

pub const PACKAGE: &str = "async-std";

pub struct Executor;

impl Executor {
    pub fn new() -> Self {
        Executor
    }

    /// As many as it starts: it does not report them.
    pub fn threads(&self) -> usize {
        let set = env::var("ASYNC_STD_THREAD_COUNT")
            .ok()
            .and_then(|text| text.parse().ok());
        set.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
    }

    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Handle {
        Handle(task::spawn(future))
    }
}

pub struct Handle(JoinHandle<()>);

impl Handle {
    /// Cancelling makes the task end at the next poll. The rest only waits for its end, one task
    /// after another, which took most of a minute for a million.
    pub fn cancel(self) {
        let _ = pin!(self.0.cancel()).poll(&mut Context::from_waker(Waker::noop()));
    }
}
