use super::*;

fn named(name: &str) -> Strategy {
    name.parse().unwrap()
}

#[test]
fn names_are_unique_and_read_back() {
    let all = Strategy::all();
    let mut names: Vec<_> = all.iter().map(ToString::to_string).collect();
    for (strategy, name) in all.iter().zip(&names) {
        assert_eq!(name.parse::<Strategy>().as_ref(), Ok(strategy));
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len());
}

#[test]
fn both_spellings_of_resident_are_understood() {
    let resident = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Resident);
    assert_eq!("instance_reuse_cow_resident".parse(), Ok(resident));
    assert_eq!("instance_reuse_resident".parse(), Ok(resident));
    assert_eq!(
        "recreate_instance_cow_resident_precompiled".parse(),
        Ok(Strategy::new(InstanceFrom::Recreate, MemoryFrom::Resident).precompiled())
    );
    for unknown in ["pooling_warm", "instance_reuse_auto", "pooling_late_tracked"] {
        assert!(unknown.parse::<Strategy>().is_err(), "{unknown}");
    }
}

#[test]
fn the_order_of_tables_is_that_of_the_list() {
    let all = Strategy::all();
    assert!(all.is_sorted_by(|a, b| a < b && a.rank() < b.rank()));
}

#[test]
fn new_instances_and_owners_are_told_by_the_strategy() {
    use Owner::{Runtime, Touchstone};
    for (name, is_new, owner) in [
        ("interpreted", true, Runtime),
        ("instance_reuse", false, Touchstone),
        ("instance_reuse_cow", false, Touchstone),
        ("instance_reuse_resident", false, Touchstone),
        ("instance_reuse_tracked", false, Touchstone),
        ("instance_reuse_gated", false, Touchstone),
        ("recreate_instance", true, Runtime),
        ("recreate_instance_cow", true, Runtime),
        ("recreate_instance_resident", true, Touchstone),
        ("recreate_instance_tracked", true, Touchstone),
        ("recreate_instance_gated", true, Touchstone),
        ("pooling", true, Runtime),
        ("pooling_cow", true, Runtime),
        ("pooling_cow_resident", true, Runtime),
        ("pooling_tracked", false, Touchstone),
    ] {
        for strategy in [named(name), named(name).precompiled()] {
            assert_eq!(strategy.is_new_instance(), is_new, "{strategy}");
            assert_eq!(strategy.owner(), owner, "{strategy}");
        }
    }
}

#[test]
fn a_precompiled_variant_has_its_base() {
    for strategy in Strategy::all() {
        let name = strategy.to_string();
        assert_eq!(strategy.is_precompiled(), name.ends_with("_precompiled"));
        assert_eq!(strategy.base().to_string(), name.trim_end_matches("_precompiled"));
    }
}

#[cfg(feature = "serde")]
#[test]
fn a_strategy_is_stored_as_its_name() {
    for strategy in Strategy::all() {
        let json = serde_json::to_string(&strategy).unwrap();
        assert_eq!(json, format!("\"{strategy}\""));
        assert_eq!(serde_json::from_str::<Strategy>(&json).unwrap(), strategy);
        assert_eq!(serde_json::from_reader::<_, Strategy>(json.as_bytes()).unwrap(), strategy);
    }
    let refused = serde_json::from_str::<Strategy>("\"pooling_warm\"").unwrap_err();
    assert!(refused.to_string().contains("there is no strategy 'pooling_warm'"), "{refused}");
    assert!(serde_json::from_str::<Strategy>("3").is_err());
}
