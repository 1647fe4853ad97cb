//! Empty: all that this crate does is its build script.
