//! tokio's multi-threaded runtime with its defaults.

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

pub use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::yield_now,
    time::sleep,
};

pub const PACKAGE: &str = "tokio";

pub struct Executor(Runtime);

impl Executor {
    pub fn new() -> Self {
        Executor(
            Builder::new_multi_thread()
                .enable_all()
                .build()
                .expect("tokio's runtime"),
        )
    }

    pub fn threads(&self) -> usize {
        self.0.metrics().num_workers()
    }

    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Handle {
        Handle(self.0.spawn(future))
    }
}

pub struct Handle(JoinHandle<()>);

impl Handle {
    pub fn cancel(self) {
        self.0.abort();
    }
}
