//! The one line of a backend's test, and the list of the suite's cases.

/// Expands to one `#[test]` per case of the suite, for a library.
///
/// ```
/// use arraybridge_testkit::mock::Wrapping;
///
/// arraybridge_testkit::conformance!(Wrapping);
/// ```
#[macro_export]
macro_rules! conformance {
    ($library:ty) => {
        $crate::each_case!(conformance @tests $library);
    };
    (@tests $library:ty; $($module:ident::$case:ident),+) => {
        $(
            #[test]
            fn $case() {
                $crate::cases::$module::$case::<$library>();
            }
        )+
    };
}

/// Hands the names of all cases to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! each_case {
    ($then:ident $($arguments:tt)*) => {
        $crate::$then! { $($arguments)*;
            identity::the_name_and_aliases_are_well_formed,
            identity::it_is_found_by_its_name_and_its_type,
            identity::the_declaration_is_derived_from_the_roles,
            identity::every_device_is_of_a_declared_kind,
            identity::an_unknown_device_is_refused_with_those_that_are_there,
            identity::a_device_scope_ends_where_it_began,
            identity::an_unrelated_error_is_not_out_of_memory,
            transfer::upload_and_download_keep_every_bit,
            transfer::upload_keeps_dtype_shape_and_device_or_is_an_error,
            transfer::describe_agrees_with_what_is_there,
            transfer::a_refused_dtype_is_a_typed_error_and_the_array_comes_back,
            transfer::moves_between_devices_keep_every_bit,
            transfer::a_view_reads_what_a_download_reads,
            sharing::download_shares_only_what_is_never_written,
            sharing::upload_shares_only_what_is_never_written,
            sharing::a_duplicate_does_not_alias_writably,
            sharing::conversions_by_reference_do_not_alias_writably,
            sharing::assign_leaves_the_values_that_it_was_given,
            exchange::round_trips_with_every_library_keep_every_bit,
            exchange::typed_round_trips_keep_every_bit,
            exchange::records_tell_the_mechanism_and_whether_it_copied,
            exchange::never_copying_shares_or_gives_the_array_back,
            exchange::staying_in_place_writes_no_record,
            exchange::an_exclusive_array_crosses_to_a_wrapping_library_as_planned,
            exchange::a_payload_has_the_array_in_its_owner_alone,
            exchange::a_writing_library_takes_exclusive_memory_only,
            owners::every_owner_is_released_exactly_once,
            owners::an_owner_lives_as_long_as_the_array_over_its_memory,
            owners::a_declined_exchange_releases_nothing_and_falls_back,
            owners::a_failed_exchange_gives_the_array_back,
            threads::arrays_convert_on_another_thread,
            threads::arrays_are_dropped_on_another_thread,
            threads::many_threads_convert_at_once,
            ops::max_and_min_keep_the_dtype_and_propagate_nan,
            ops::sums_are_in_64_bits_or_the_float_itself,
            ops::means_are_floats,
            ops::reductions_refuse_bad_axes_and_no_elements,
            ops::astype_is_a_plain_cast,
            ops::reshape_and_prepend_axis_keep_row_major_order,
            ops::broadcast_to_repeats,
            ops::ones_like_is_ones_where_the_reference_is,
            ops::assign_replaces_a_range_with_negative_ends_and_steps,
            ops::logical_and_is_true_where_both_are_not_zero,
            ops::stack_and_plane_are_inverse,
            ops::normalize_planes_divides_by_scales,
            ops::scale_dtype_reaches_the_ends_of_the_range,
            ops::math_makes_arrays_of_nothing
        }
    };
}

/// Lists the cases with their names.
#[doc(hidden)]
#[macro_export]
macro_rules! list_cases {
    ($library:ty; $($module:ident::$case:ident),+) => {
        vec![$((stringify!($case), $crate::cases::$module::$case::<$library> as fn())),+]
    };
}
