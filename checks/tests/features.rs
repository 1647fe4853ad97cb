//! What engines claim to run is what they run.

use touchstone::record::Outcome;
use touchstone_checks::features::{probe, probes};
use touchstone_executor::Feature;

#[test]
fn every_engine_runs_the_features_that_it_claims_and_no_other_one() {
    let engines = touchstone_checks::engines();
    let findings = probe(&engines, |_| {}).unwrap();
    assert_eq!(findings.len(), engines.len() * probes().len());
    for finding in &findings {
        assert_eq!(finding.number(Outcome::Failed), 0, "{finding:?}");
        let engine = engines.iter().find(|engine| engine.id() == finding.engine).unwrap();
        let feature = Feature::ALL.into_iter().find(|feature| feature.name() == finding.name);
        if finding.number(Outcome::NotDriven) == 0 {
            let claims = engine.features().has(feature.unwrap());
            assert_eq!(finding.number(Outcome::Held) > 0, claims, "{finding:?}");
            assert_eq!(finding.number(Outcome::Refused) > 0, !claims, "{finding:?}");
        }
    }
}
