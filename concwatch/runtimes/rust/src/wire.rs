//! Reports, one a line. What tasks print goes to standard error.

use crate::{json::Value, system};
use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    os::fd::AsFd,
    process,
    sync::{Mutex, OnceLock},
};

const LONGEST_MESSAGE: usize = 1000;

static REPORTS: OnceLock<Mutex<File>> = OnceLock::new();

/// Duplicate standard input and output; return the source of commands.
pub fn open() -> io::Result<File> {
    let (input, output) = (io::stdin(), io::stdout());
    let commands = File::from(input.as_fd().try_clone_to_owned()?);
    let reports = File::from(output.as_fd().try_clone_to_owned()?);
    system::point(File::open("/dev/null")?.as_fd(), input.as_fd())?;
    system::point(io::stderr().as_fd(), output.as_fd())?;
    REPORTS.set(Mutex::new(reports)).expect("opened once");
    Ok(commands)
}

pub fn send(kind: &str, fields: &[(&str, Value)]) {
    let mut line = format!("{{\"type\":\"{kind}\"");
    for (key, value) in fields {
        let _ = write!(line, ",\"{key}\":{value}");
    }
    line.push_str("}\n");
    let mut reports = REPORTS.get().expect("opened").lock().unwrap();
    if reports.write_all(line.as_bytes()).is_err() {
        process::exit(0); // the reader is gone
    }
}

/// Answer an invalid command: one line of bounded length, whatever it quotes.
pub fn refuse(command: Value, message: &str) {
    let words: Vec<_> = message.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(LONGEST_MESSAGE).collect();
    send(
        "error",
        &[
            ("command", command),
            ("message", line.into()),
            ("detail", Value::Null),
        ],
    );
}
