//! The command `touchstone`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
