//! The suite of foreign programs, on every engine of this build.

use crate::everywhere::runs_own_code;
use touchstone::case::{self, Guests};
use touchstone::lab::Lab;
use touchstone::plan::Plan;
use touchstone_executor::{Abi, Config, Execution};

/// Programs of WASI have the same output everywhere. A cell is opened only if two calls gave the
/// expected output, which comes from another implementation of WASI.
#[test]
fn foreign_programs_answer_alike_on_every_engine() {
    let mut cases = case::built_in().unwrap();
    cases.retain(|case| case.abi == Abi::Wasi);
    assert!(cases.len() >= 4);
    // Nothing here depends on time.
    cases.iter_mut().for_each(|case| case.budget_s = None);
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| engine.execution() != Execution::Native);
    let mut guests = Guests::built();
    let plan = Plan::new(&cases, &engines, &mut guests).unwrap();
    let mut own = guests.clone();
    let mut lab = Lab::new(guests, Config::default()).without_times();
    for cell in &plan.cells {
        if !runs_own_code(&*cell.engine, &own.of_case(&cell.case, &cell.guest).unwrap()) {
            continue;
        }
        lab.open(cell).unwrap_or_else(|refused| panic!("{}: {}", cell.name(), refused.reason));
    }
    for engine in &engines {
        for case in &cases {
            let is_run = |cell: &&touchstone::plan::Cell| {
                cell.engine.id() == engine.id() && cell.case.name == case.name
            };
            // What an engine executes as another one does is planned once. Substrate's executor
            // knows one convention.
            let is_excused = engine.executes_like().is_some() || engine.id() == "substrate";
            assert!(is_excused || plan.cells.iter().any(|cell| is_run(&cell)), "{}", engine.id());
        }
    }
}
