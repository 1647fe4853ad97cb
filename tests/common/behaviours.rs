//! The lists of strategies and of behaviours: each behaviour is a test for every strategy.

/// The tests of every strategy. Those of a strategy that no engine supports do nothing.
macro_rules! every_strategy {
    () => {
        strategies! {
            interpreted
            instance_reuse
            instance_reuse_precompiled
            instance_reuse_cow
            instance_reuse_cow_precompiled
            instance_reuse_resident
            instance_reuse_resident_precompiled
            instance_reuse_tracked
            instance_reuse_tracked_precompiled
            instance_reuse_gated
            instance_reuse_gated_precompiled
            recreate_instance
            recreate_instance_precompiled
            recreate_instance_cow
            recreate_instance_cow_precompiled
            recreate_instance_resident
            recreate_instance_resident_precompiled
            recreate_instance_tracked
            recreate_instance_tracked_precompiled
            recreate_instance_gated
            recreate_instance_gated_precompiled
            pooling
            pooling_precompiled
            pooling_cow
            pooling_cow_precompiled
            pooling_cow_resident
            pooling_cow_resident_precompiled
            pooling_tracked
        }
    };
}

/// One module of tests per strategy, one test per behaviour.
macro_rules! strategies {
    ($($strategy:ident)*) => {
        #[test]
        fn every_strategy_is_tested() {
            let all = touchstone_executor::Strategy::all();
            let names: Vec<_> = all.iter().map(ToString::to_string).collect();
            assert_eq!(names, [$(stringify!($strategy)),*]);
        }

        $(mod $strategy {
            fn strategy() -> touchstone_executor::Strategy {
                stringify!($strategy).parse().unwrap()
            }
            behaviours! {
                calling: substrate_outputs_are_right
                    the_input_lies_at_the_heap_base_behind_its_header
                    inputs_are_fetched
                    numbers_go_in_and_out_without_a_memory
                    references_to_nothing_need_no_table
                    without_a_heap_base_an_input_is_refused
                    log_lines_arrive
                    unknown_imports_load_and_trap_by_name
                    misuse_is_named
                    a_foreign_handle_leaves_the_next_call_clean
                    exports_are_checked_by_name_and_signature
                    artifacts_of_others_are_refused
                    what_is_in_force_is_said
                    raw_interfaces_answer_the_same;
                bytes: the_guests_allocator_gives_the_buffer
                    without_a_fitting_allocator_bytes_are_refused;
                clean: two_hundred_calls_are_like_the_first
                    table_entries_are_brought_back
                    a_start_function_has_run_before_each_call
                    what_a_start_function_grew_is_part_of_the_memory
                    calls_of_one_use_see_what_the_others_have_left
                    a_dropped_segment_refuses_reuse_and_nothing_else
                    segments_answer_as_in_the_module_itself
                    a_large_memory_is_clean_at_both_ends
                    instances_on_four_threads_do_not_mix
                    a_call_may_change_its_thread_between_its_steps
                    instances_outlive_their_module;
                limits: a_memory_bomb_stops_at_the_limit
                    growing_answers_the_same_on_every_call
                    growing_replaces_no_instance
                    the_hosts_allocator_grows_the_memory
                    a_fixed_memory_refuses_what_does_not_fit;
                moving: a_memory_that_grows_often_keeps_all_that_was_written
                    behind_the_size_of_a_memory_every_access_traps
                    far_behind_a_large_memory_every_access_traps
                    addresses_are_held_while_a_memory_grows
                    however_many_pages_were_written_they_are_kept
                    calls_grow_by_different_amounts_in_turn
                    the_host_writes_to_where_a_grown_memory_is
                    memories_that_grow_on_four_threads_do_not_mix;
                traps: a_trap_leaves_the_next_call_clean
                    traps_in_recursions_use_up_no_stack
                    growth_in_a_recursion_moves_no_limit
                    a_host_function_in_a_table_uses_up_no_stack
                    bulk_instructions_take_no_number_as_negative
                    bulk_instructions_reach_behind_two_gibibytes
                    a_segment_that_does_not_fit_is_a_trap_of_the_guest
                    a_missing_import_traps_by_name
                    one_name_may_be_imported_with_two_types
                    one_function_may_be_imported_twice
                    a_host_function_refuses_by_name
                    a_result_outside_the_memory_is_a_trap
                    an_endless_loop_ends_at_its_deadline
                    a_deadline_ends_what_takes_long_in_few_turns
                    under_a_deadline_calls_end_as_without;
                storage: a_storage_outlives_clean_instances
                    a_large_value_grows_the_memory
                    a_storage_refuses_by_name;
                host_functions: values_go_to_the_host_and_back
                    the_host_grows_the_memory_and_writes_at_its_end
                    addresses_outside_the_memory_are_refused
                    state_of_the_host_is_brought_back
                    a_panic_of_the_host_is_an_error
                    a_context_belongs_to_its_call
                    the_host_calls_other_instances
                    limits_are_enforced_or_refused_by_name
                    an_interrupt_ends_a_call
                    missing_imports_are_named_or_stubs;
                wapc: two_hundred_calls_of_wapc_are_like_the_first
                    an_error_of_a_guest_is_that_of_its_call
                    without_a_handler_a_host_call_is_an_error_of_the_guest
                    addresses_of_wapc_outside_the_memory_are_traps;
                wasi: programs_observe_the_same_in_every_call
                    programs_exit_with_their_code
                    programs_stay_in_their_memory_and_directory
                    other_conventions_use_wasi_too
                    what_a_start_function_did_is_part_of_the_clean_state;
            }
        })*
    };
}

macro_rules! behaviours {
    ($($part:ident: $($behaviour:ident)*;)*) => {
        $($(#[test]
        fn $behaviour() {
            crate::common::$part::$behaviour(strategy());
        })*)*
    };
}
