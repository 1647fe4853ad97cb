//! Every engine executes guests in the way that it says.

use touchstone_executor::harness::check_execution;
use touchstone_executor::{Config, Execution, Strategy};

#[test]
fn the_speed_of_a_kernel_fits_what_each_engine_claims() {
    let config = Config::default();
    for engine in touchstone_runtimes::engines() {
        let mut probed = 0;
        for strategy in Strategy::all() {
            if let Some(seen) = check_execution(&*engine, strategy, &config).unwrap() {
                for look in &seen.earlier {
                    println!("{} {strategy}, against the claim: {look}", engine.id());
                }
                println!("{} {strategy}: {}", engine.id(), seen.last);
                probed += 1;
            }
        }
        // Native code is no guest; everything else has to be seen.
        assert!(probed > 0 || engine.execution() == Execution::Native, "{}", engine.id());
    }
}
