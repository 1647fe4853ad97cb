//! Reading and rewriting modules, in one program.

mod guest;
mod link;
