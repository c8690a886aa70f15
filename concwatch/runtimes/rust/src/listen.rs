//! The thread that reads commands.

use crate::{command::Command, json::Value, population, wire};
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    process,
    sync::mpsc::Sender,
    time::Instant,
};

const LONGEST_LINE: u64 = 1 << 20;

/// Pass every command on; exit the process when the input ends.
pub fn listen(input: File, commands: &Sender<Command>) -> ! {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut inside = false; // whether the next piece belongs to a line that was too long
    while input
        .by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .is_ok_and(|size| size > 0)
    {
        if !inside && !line.trim_ascii().is_empty() {
            pass(&line, commands);
        }
        inside = line.last() != Some(&b'\n');
        line.clear();
    }
    process::exit(0)
}

fn pass(line: &[u8], commands: &Sender<Command>) {
    match Command::read(line, Instant::now()) {
        Err(why) => wire::refuse(Value::Null, &why),
        Ok(command) if command.kind == "stop" => process::exit(0),
        Ok(command) => {
            commands.send(command).expect("the worker's thread");
            population::wake();
        }
    }
}
