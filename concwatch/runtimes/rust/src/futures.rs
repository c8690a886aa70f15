//! The engine whose tasks are futures that an executor polls on its threads.

use crate::{
    connect::LINE,
    executor::{self, AsyncReadExt, AsyncWriteExt, Executor, TcpStream, sleep, yield_now},
    lag,
    life::Life,
    version,
    work::{self, Work},
};
use std::{convert::Infallible, future::pending, io, net::SocketAddrV4, time::Duration};

pub use executor::Handle;

pub struct Engine(Executor);

impl Engine {
    pub fn new() -> Self {
        Engine(Executor::new())
    }

    pub fn flags(&self) -> Vec<String> {
        vec![
            version::package(executor::PACKAGE),
            format!("{} worker threads", self.0.threads()),
        ]
    }

    pub fn watch(&self) {
        self.0.spawn(async {
            loop {
                lag::note();
                sleep(lag::STEP).await;
            }
        });
    }

    /// Whether a task that ends may start its successor, while so many are missing.
    pub fn may_succeed(&self, _missing: u64) -> bool {
        true
    }

    pub fn start(&self, work: Work, slot: u32, timed: bool) -> io::Result<Handle> {
        let mut life = Life::new(slot, timed); // outside, so that it is dropped even if the task never begins
        // A future for each, since one for all would be as large as the largest.
        Ok(match work {
            Work::Sleep(length) => {
                // Half as large as a Duration, and without its alignment.
                let (seconds, nanos) = (length.as_secs() as u32, length.subsec_nanos());
                self.0.spawn(async move {
                    life.begin();
                    sleep(Duration::new(seconds.into(), nanos)).await;
                    life.complete();
                })
            }
            Work::Ticks(count, length) => self.0.spawn(async move {
                life.begin();
                for _ in 0..count {
                    sleep(length).await;
                }
                life.complete();
            }),
            Work::Hold => self.0.spawn(async move {
                life.begin();
                pending().await
            }),
            Work::Payload(size) => self.0.spawn(async move {
                life.begin();
                let _held = work::touched(size);
                pending().await
            }),
            Work::Spin(total) => self.0.spawn(async move {
                life.begin();
                let mut used = Duration::ZERO;
                while used < total {
                    used += work::spin(total - used);
                    yield_now().await;
                }
                life.complete();
            }),
            Work::Nop => self.0.spawn(async move {
                life.begin();
                life.complete();
            }),
            Work::Connect(address, interval) => self.0.spawn(async move {
                life.begin();
                let Err(error) = hold_connection(address, interval).await;
                life.fail(&error);
            }),
        })
    }
}

/// Send a line and read it back, again after each interval, until the connection ends.
async fn hold_connection(
    address: SocketAddrV4,
    interval: Option<Duration>,
) -> io::Result<Infallible> {
    let mut stream = TcpStream::connect(address).await?;
    let mut line = [0; LINE.len()];
    loop {
        stream.write_all(LINE).await?;
        stream.read_exact(&mut line).await?;
        match interval {
            Some(length) => sleep(length).await,
            None => {
                stream.read_exact(&mut line).await?; // fails when the server closes the connection
            }
        }
    }
}
