cuspan_stage(correlate src/correlate/correlate.c src/correlate/spans.c src/correlate/session_spans.c src/correlate/step_spans.c src/correlate/thread_events.c src/correlate/call_spans.c src/correlate/spans/code_attributes.c src/correlate/activity_spans.c src/correlate/gpu_join.c src/correlate/facts.c src/correlate/observers.c src/correlate/activity_times.c
             src/correlate/range_spans.c src/correlate/join/pending.c src/correlate/join/waiting.c src/correlate/trace/sampler.c
             src/correlate/trace/session.c src/correlate/trace/steps.c src/correlate/trace/step_budget.c src/correlate/totals/session_overhead.c src/correlate/spans/attributes.c src/correlate/names/kernel_names.c src/correlate/names/demangle.c src/correlate/trace/devices.c
             src/correlate/totals/accounts.c src/correlate/counting.c src/correlate/join/entry_queue.c src/correlate/totals/summaries.c src/correlate/totals/totals.c
             src/correlate/totals/busy.c src/correlate/totals/allocations.c src/correlate/totals/program_stats.c src/correlate/totals/step_stats.c
             src/correlate/trace/ranges.c src/correlate/trace/tracestates.c src/correlate/join/graphs.c src/correlate/join/graph_runs.c src/correlate/join/gpu_counted.c src/correlate/trace/named_objects.c src/correlate/trace/context_errors.c src/correlate/spans/span_shared.c src/correlate/join/collectives.c src/correlate/collective_spans.c src/correlate/stacks/code_stacks.c src/correlate/stacks/code_profile.c src/correlate/stacks/symbols.c)
# The demangler of the C++ runtime, linked statically: no C++ runtime is needed or loaded.
if(CUSPAN_LIBRARIES)
  set(CUSPAN_DEMANGLER ${CUSPAN_LIBRARIES}/lib/libdemangle.a)
else()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libsupc++.a OUTPUT_VARIABLE CUSPAN_DEMANGLER
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
target_link_libraries(cuspan_correlate PUBLIC cuspan_model ${CUSPAN_DEMANGLER})
if(CMAKE_BUILD_TYPE MATCHES "^Rel") # the agent's image has little room
  set_source_files_properties(src/correlate/stacks/symbols.c PROPERTIES COMPILE_OPTIONS -Os)
endif()
