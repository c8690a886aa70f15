//! The engine whose tasks are system threads, with the standard library's default stack.

use crate::{
    connect::LINE,
    lag,
    life::Life,
    maps::Maps,
    work::{self, Work},
};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddrV4, TcpStream},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

#[derive(Default)]
pub struct Engine {
    maps: Mutex<Maps>,
    started: AtomicU64,
}

/// A sleeping thread is parked, so that it can be woken early; the connection of one that waits for it is shut down.
pub struct Handle {
    thread: Thread,
    quit: Arc<Quit>,
}

impl Handle {
    pub fn cancel(self) {
        self.quit.cancelled.store(true, Relaxed);
        fence(SeqCst);
        if let Some(connection) = self.quit.connection.get() {
            let _ = connection.shutdown(Shutdown::Both); // an error: the server has closed it
        }
        self.thread.unpark();
    }
}

impl Engine {
    pub fn new() -> Self {
        Engine::default()
    }

    pub fn flags(&self) -> Vec<String> {
        Vec::new()
    }

    pub fn watch(&self) {
        thread::spawn(|| {
            loop {
                lag::note();
                thread::sleep(lag::STEP);
            }
        });
    }

    /// Whether a thread that ends may start its successor, while so many are missing. If more than that are, the
    /// processor is busy: the worker's own thread then starts them, which would otherwise wait for its turn behind
    /// them all. That thread also waits for the maps of those that end.
    pub fn may_succeed(&self, missing: u64) -> bool {
        missing == 1 && self.maps.try_lock().is_ok_and(|maps| maps.has_some())
    }

    pub fn start(&self, work: Work, slot: u32, timed: bool) -> io::Result<Handle> {
        self.maps.lock().unwrap().take(self.started.load(Relaxed))?;
        let quit = Arc::new(Quit::default());
        let task = Arc::clone(&quit);
        let thread = thread::Builder::new().spawn(move || {
            let mut life = Life::new(slot, timed);
            life.begin();
            match task.run(work) {
                Ok(()) => life.complete(),
                Err(Stop::Failed(error)) if task.check().is_ok() => life.fail(&error),
                Err(_) => {}
            }
        })?;
        self.started.fetch_add(1, Relaxed);
        Ok(Handle {
            thread: thread.thread().clone(),
            quit,
        })
    }
}

/// Why the body of a task returns early.
enum Stop {
    Cancelled,
    /// Or cancelled, by the end of its connection.
    Failed(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error)
    }
}

/// Whether a task has been cancelled, and what it waits for if it is not parked.
#[derive(Default)]
struct Quit {
    cancelled: AtomicBool,
    connection: OnceLock<TcpStream>,
}

impl Quit {
    fn run(&self, work: Work) -> Result<(), Stop> {
        match work {
            Work::Sleep(length) => self.sleep(length),
            Work::Ticks(count, length) => (0..count).try_for_each(|_| self.sleep(length)),
            Work::Hold => self.hold(),
            Work::Payload(size) => {
                let _held = work::touched(size);
                self.hold()
            }
            Work::Spin(total) => {
                let mut used = Duration::ZERO;
                while used < total {
                    self.check()?;
                    used += work::spin(total - used);
                }
                Ok(())
            }
            Work::Nop => Ok(()),
            Work::Connect(address, interval) => self.hold_connection(address, interval),
        }
    }

    fn check(&self) -> Result<(), Stop> {
        match self.cancelled.load(Relaxed) {
            true => Err(Stop::Cancelled),
            false => Ok(()),
        }
    }

    /// Send a line and read it back, again after each interval, until the connection ends.
    fn hold_connection(
        &self,
        address: SocketAddrV4,
        interval: Option<Duration>,
    ) -> Result<(), Stop> {
        let stream = TcpStream::connect(address)?;
        let mut stream = self.connection.get_or_init(|| stream);
        fence(SeqCst); // either this sees that it is cancelled, or the canceller sees the connection
        let mut line = [0; LINE.len()];
        loop {
            self.check()?;
            stream.write_all(LINE)?;
            stream.read_exact(&mut line)?;
            match interval {
                Some(length) => self.sleep(length)?,
                None => stream.read_exact(&mut line)?, // fails when the server closes the connection
            }
        }
    }

    fn sleep(&self, length: Duration) -> Result<(), Stop> {
        let end = Instant::now() + length;
        loop {
            self.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::park_timeout(left);
        }
    }

    fn hold(&self) -> Result<(), Stop> {
        loop {
            self.check()?;
            thread::park();
        }
    }
}
