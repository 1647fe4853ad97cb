//! Engines run the features that they claim.

use rayon::prelude::*;
use touchstone::record::Outcome;
use touchstone::supervise::Stop;
use touchstone_checks::features::{probe, probe_in_process};
use touchstone_executor::Feature;

#[test]
fn every_engine_runs_the_features_that_it_claims_and_no_other_one() {
    let engines = touchstone_checks::engines();
    let all = Feature::ALL.into_par_iter();
    let all = all.flat_map_iter(|wanted| engines.iter().map(move |engine| (wanted, engine)));
    all.for_each(|(wanted, engine)| {
        let finding = &probe(&**engine, wanted).unwrap();
        assert_eq!(finding.number(Outcome::Failed), 0, "{finding:?}");
        let feature = Feature::ALL.into_iter().find(|feature| feature.name() == finding.name);
        if finding.number(Outcome::NotDriven) == 0 {
            let claims = engine.capabilities().features.has(feature.unwrap());
            assert_eq!(finding.number(Outcome::Held) > 0, claims, "{finding:?}");
            assert_eq!(finding.number(Outcome::Refused) > 0, !claims, "{finding:?}");
        }
    });
}

#[test]
fn a_process_that_ends_is_a_failed_probe() {
    let engines = touchstone_checks::engines();
    let Some(engine) = engines.first() else { return };
    let (command, stop) = (std::process::Command::new("false"), Stop::default());
    let found = probe_in_process(&**engine, Feature::TailCalls, command, &stop).unwrap().unwrap();
    assert_eq!(found.number(Outcome::Failed), 1);
    assert!(found.evidence[0].contains("exit"), "{found:?}");
}
