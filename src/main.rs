//! The command `touchstone`: what there is to measure, what was measured, the
//! report, and a look at anybody's module.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
