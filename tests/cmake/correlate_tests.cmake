foreach(module step_budget engine_requests iteration_summaries kernel_names named_objects pending waiting sampler session session_overhead attributes devices graphs graph_runs totals accounts summaries
        entry_queue span_shared busy allocations program_stats gpu_counted code_stacks code_profile)
  cuspan_unit_test(${module} cuspan_correlate)
endforeach()

# Records in, spans out.
add_library(correlate_harness STATIC tests/unit/support/correlate_harness.c)
target_link_libraries(correlate_harness PUBLIC cuspan_correlate cuspan_cmocka)
foreach(part collective_spans call_spans activity_spans context_errors device_spans thread_events range_spans session_spans step_spans step_limits engine_spans engine_stats step_stats counting profile_links)
  cuspan_unit_test(${part} correlate_harness)
endforeach()

# Compares the sampler with an SDK's that implements the same specification (fetched from PyPI by the script).
add_executable(sampler_decisions tests/integration/otlp/sampler_decisions.c)
target_link_libraries(sampler_decisions PRIVATE cuspan_correlate)
add_test(NAME integration/sampler_sdk
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/otlp/sampler_sdk_test.sh $<TARGET_FILE:sampler_decisions>)

# For this test and that of native_code.
add_library(many_functions MODULE tests/unit/support/many_functions.c)
target_compile_options(many_functions PRIVATE -g0 -fno-sanitize=all)
# Libraries with and without .symtab; the test changes copies of them.
cuspan_unit_test(symbols cuspan_correlate)
target_compile_definitions(symbols_test PRIVATE SAMPLES="${CMAKE_BINARY_DIR}")
add_dependencies(symbols_test many_functions)
function(cuspan_symbols_sample kind)
  add_library(symbols_${kind} MODULE tests/unit/support/symbols_sample.c)
  target_compile_options(symbols_${kind} PRIVATE -g0 -fno-sanitize=all)
  target_link_options(symbols_${kind} PRIVATE ${ARGN})
  add_dependencies(symbols_test symbols_${kind})
endfunction()
cuspan_symbols_sample(full -Wl,--build-id=sha1)
cuspan_symbols_sample(stripped -Wl,--build-id=sha1 -s)
cuspan_symbols_sample(plain -Wl,--build-id=none)
cuspan_symbols_sample(plain_other -Wl,--build-id=none)
target_compile_definitions(symbols_plain_other PRIVATE LONG_FUNCTIONS) # other names at the same offsets
