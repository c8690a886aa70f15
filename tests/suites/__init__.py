"""The test suites of other projects, run bare and watched, and compared test by test."""
