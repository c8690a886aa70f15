//! Functions of the C library.

use std::{
    ffi::{c_int, c_long},
    io,
    os::fd::{AsRawFd, BorrowedFd},
    time::Duration,
};

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn getrusage(who: c_int, usage: *mut [c_long; RUSAGE]) -> c_int;
    fn getrlimit(resource: c_int, limit: *mut [u64; 2]) -> c_int;
    fn setrlimit(resource: c_int, limit: *const [u64; 2]) -> c_int;
    fn dup2(from: c_int, to: c_int) -> c_int;
    #[cfg(target_env = "gnu")]
    fn malloc_trim(pad: usize) -> c_int;
}

/// A clock, by its number.
#[derive(Clone, Copy)]
#[cfg(not(target_os = "macos"))]
pub enum Clock {
    Monotonic = 1,
    Process = 2,
    Thread = 3,
}

#[derive(Clone, Copy)]
#[cfg(target_os = "macos")]
pub enum Clock {
    Monotonic = 6,
    Process = 12,
    Thread = 16,
}

pub fn now(clock: Clock) -> Duration {
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: the struct is the C library's, and lives until the call returns.
    unsafe { clock_gettime(clock as c_int, &mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// The longs of `struct rusage` at most, including those that musl reserves.
const RUSAGE: usize = 34;

/// Seconds of CPU time and context switches of the whole process so far: two times take four longs, and the
/// switches are the last of the rest.
pub fn usage() -> (Duration, u64) {
    let mut usage = [0; RUSAGE];
    // SAFETY: the array is no smaller than the C library's struct, and lives until the call returns.
    unsafe { getrusage(0, &mut usage) };
    let micros = (usage[0] + usage[2]) * 1_000_000 + usage[1] + usage[3];
    (Duration::from_micros(micros as u64), (usage[16] + usage[17]) as u64)
}

#[cfg(not(target_os = "macos"))]
const RLIMIT_NOFILE: c_int = 7;
#[cfg(target_os = "macos")]
const RLIMIT_NOFILE: c_int = 8;

/// The soft and the hard limit on open files.
fn open_files() -> [u64; 2] {
    let mut limit = [0; 2];
    // SAFETY: the array is no smaller than the C library's struct, and lives until the call returns.
    unsafe { getrlimit(RLIMIT_NOFILE, &mut limit) };
    limit
}

/// How many files this process may have open.
pub fn open_file_limit() -> u64 {
    open_files()[0]
}

/// Raise the soft limit on open files to the hard limit, where the system grants that.
pub fn raise_open_file_limit() {
    let [_, hard] = open_files();
    // SAFETY: as above.
    unsafe { setrlimit(RLIMIT_NOFILE, &[hard, hard]) };
}

/// Whether the system has refused to open another file in this process.
pub fn is_too_many_files(error: &io::Error) -> bool {
    const EMFILE: i32 = 24;
    error.raw_os_error() == Some(EMFILE)
}

/// Make descriptor `to` a duplicate of `from`.
pub fn point(from: BorrowedFd, to: BorrowedFd) -> io::Result<()> {
    // SAFETY: both are open, and `to` remains open.
    match unsafe { dup2(from.as_raw_fd(), to.as_raw_fd()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(target_env = "gnu")]
pub const CAN: &[&str] = &["trim", "burst"];
#[cfg(not(target_env = "gnu"))]
pub const CAN: &[&str] = &["burst"];

/// Return free memory to the system, which the C library would keep.
#[cfg(target_env = "gnu")]
pub fn trim() {
    // SAFETY: it takes the allocator's own locks.
    unsafe { malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
pub fn trim() {}
