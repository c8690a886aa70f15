//! The versions of the compiler and of the runtime.

/// Set by the build command to the output of `rustc --version`.
const RUSTC: Option<&str> = option_env!("RUSTC_VERSION");

pub fn runtime() -> String {
    format!(
        "Rust {}",
        RUSTC
            .and_then(|text| text.split(' ').nth(1))
            .unwrap_or("of unknown version")
    )
}

/// A package with its locked version.
#[cfg(not(feature = "threads"))]
pub fn package(name: &str) -> String {
    let version = include_str!("../Cargo.lock")
        .split_once(&format!("\"{name}\"\nversion = \""))
        .and_then(|(_, rest)| rest.split('"').next());
    format!("{name} {}", version.unwrap_or_default())
}
