//! The guests, built for this machine.

mod accounts;
mod common;
mod json;
mod karmem;
mod kernels;
mod native;
mod records;
mod signatures;
