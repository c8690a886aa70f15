//! The JSON that the wire needs: reads flat objects, writes flat objects with lists.

use std::{fmt, iter::Peekable, str::Chars, time::Duration};

const LONGEST_NUMBER: usize = 40;

/// A value. Numbers are kept as written, so that none is rounded.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Value>),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number.to_string())
    }
}

/// Seconds.
impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Value::Number(format!("{:.6}", time.as_secs_f64()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(list: Vec<T>) -> Self {
        Value::List(list.into_iter().map(Into::into).collect())
    }
}

impl From<&[&str]> for Value {
    fn from(list: &[&str]) -> Self {
        list.to_vec().into()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Null => out.write_str("null"),
            Value::Flag(on) => write!(out, "{on}"),
            Value::Number(number) => out.write_str(number),
            Value::Text(text) => write_text(out, text),
            Value::List(list) => {
                out.write_str("[")?;
                for (at, value) in list.iter().enumerate() {
                    out.write_str(if at > 0 { "," } else { "" })?;
                    write!(out, "{value}")?;
                }
                out.write_str("]")
            }
        }
    }
}

fn write_text(out: &mut fmt::Formatter, text: &str) -> fmt::Result {
    out.write_str("\"")?;
    for char in text.chars() {
        match char {
            '"' | '\\' => write!(out, "\\{char}")?,
            _ if char.is_control() => write!(out, "\\u{:04x}", u32::from(char))?,
            _ => write!(out, "{char}")?,
        }
    }
    out.write_str("\"")
}

pub type Fields = Vec<(String, Value)>;

/// Parse one flat object; `None` for anything else.
pub fn read(line: &str) -> Option<Fields> {
    let mut reader = Reader(line.chars().peekable());
    let mut fields = Fields::new();
    reader.expect('{')?;
    if !reader.found('}') {
        loop {
            let key = reader.text()?;
            reader.expect(':')?;
            fields.push((key, reader.value()?));
            if reader.found('}') {
                break;
            }
            reader.expect(',')?;
        }
    }
    reader.space();
    reader.0.next().is_none().then_some(fields)
}

struct Reader<'a>(Peekable<Chars<'a>>);

impl Reader<'_> {
    fn space(&mut self) {
        while self.0.next_if(|char| " \t\r\n".contains(*char)).is_some() {}
    }

    fn found(&mut self, char: char) -> bool {
        self.space();
        self.0.next_if_eq(&char).is_some()
    }

    fn expect(&mut self, char: char) -> Option<()> {
        self.found(char).then_some(())
    }

    fn value(&mut self) -> Option<Value> {
        self.space();
        if self.0.peek() == Some(&'"') {
            return self.text().map(Value::Text);
        }
        let mut word = String::new();
        while let Some(char) = self.0.next_if(|char| !",} \t\r\n".contains(*char)) {
            word.push(char);
        }
        match word.as_str() {
            "null" => Some(Value::Null),
            "true" => Some(Value::Flag(true)),
            "false" => Some(Value::Flag(false)),
            _ => is_number(&word).then_some(Value::Number(word)),
        }
    }

    fn text(&mut self) -> Option<String> {
        self.expect('"')?;
        let mut units = Vec::new(); // of UTF-16, as \u escapes are
        loop {
            match self.0.next()? {
                '"' => return Some(String::from_utf16_lossy(&units)),
                '\\' => units.push(self.escaped()?),
                char if char < ' ' => return None,
                char => units.extend_from_slice(char.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escaped(&mut self) -> Option<u16> {
        Some(match self.0.next()? {
            char @ ('"' | '\\' | '/') => char as u16,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let mut unit = 0;
                for _ in 0..4 {
                    unit = unit << 4 | self.0.next()?.to_digit(16)? as u16;
                }
                unit
            }
            _ => return None,
        })
    }
}

/// Whether it is a JSON number: `parse` alone would also accept "+1", "01", "1." and "inf".
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let (whole, rest) = digits.split_at(digits.find(['.', 'e', 'E']).unwrap_or(digits.len()));
    word.len() <= LONGEST_NUMBER
        && whole.bytes().all(|byte| byte.is_ascii_digit())
        && (whole == "0" || !whole.starts_with('0'))
        && !whole.is_empty()
        && (!rest.starts_with('.') || rest[1..].starts_with(|char: char| char.is_ascii_digit()))
        && word.parse::<f64>().is_ok_and(f64::is_finite)
}
