//! One line of standard input, with its fields checked as a command needs them.

use crate::json::{self, Fields, Value};
use std::{ops::RangeInclusive, time::Instant};

pub const MOST_TASKS: u64 = 1_000_000_000;

/// How many characters of an invalid value a message quotes.
const SHOWN: usize = 60;

pub struct Command {
    pub kind: String,
    pub arrived: Instant,
    fields: Fields,
}

impl Command {
    /// Parse a line; or return why it is not a command.
    pub fn read(line: &[u8], arrived: Instant) -> Result<Self, String> {
        let fields = std::str::from_utf8(line)
            .ok()
            .and_then(json::read)
            .unwrap_or_default();
        let mut command = Command {
            kind: String::new(),
            arrived,
            fields,
        };
        match command.get("type") {
            Some(Value::Text(kind)) => command.kind = kind.clone(),
            _ => {
                let shown: String = String::from_utf8_lossy(line)
                    .trim()
                    .chars()
                    .take(SHOWN)
                    .collect();
                let shown = Value::from(shown);
                return Err(format!(
                    r#"{shown} is not a command; expected one flat JSON object such as {{"type":"stop"}}"#
                ));
            }
        }
        Ok(command)
    }

    /// The type, short enough to be quoted.
    pub fn name(&self) -> String {
        self.kind.chars().take(SHOWN).collect()
    }

    /// The last field of that name, as everywhere in JSON.
    fn get(&self, key: &str) -> Option<&Value> {
        self.fields
            .iter()
            .rfind(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    fn wrong(&self, key: &str, expected: &str) -> String {
        let value = self.get(key).unwrap_or(&Value::Null);
        format!("\"{key}\" is {value}; expected {expected}")
    }

    pub fn whole(&self, key: &str, most: u64) -> Result<u64, String> {
        match self.get(key) {
            Some(Value::Number(number)) => number.parse().ok().filter(|number| *number <= most),
            _ => None,
        }
        .ok_or_else(|| self.wrong(key, &format!("a whole number from 0 to {most}")))
    }

    pub fn number(
        &self,
        key: &str,
        range: RangeInclusive<f64>,
        expected: &str,
    ) -> Result<f64, String> {
        match self.get(key) {
            Some(Value::Number(number)) => number.parse().ok().filter(|it| range.contains(it)),
            _ => None,
        }
        .ok_or_else(|| self.wrong(key, expected))
    }

    pub fn flag(&self, key: &str) -> Result<bool, String> {
        match self.get(key) {
            Some(Value::Flag(on)) => Ok(*on),
            _ => Err(self.wrong(key, "true or false")),
        }
    }

    pub fn text(&self, key: &str) -> Result<&str, String> {
        match self.get(key) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.wrong(key, "a string")),
        }
    }

    /// Whether there is such a field, and it is not null.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| *value != Value::Null)
    }
}
