//! The command `touchstone-checks`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
