cuspan_stage(correlate src/agent/correlate/correlate.c src/agent/correlate/spans.c src/agent/correlate/session_spans.c src/agent/correlate/step_spans.c src/agent/correlate/thread_events.c src/agent/correlate/call_spans.c src/agent/correlate/spans/code_attributes.c src/agent/correlate/activity_spans.c src/agent/correlate/gpu_join.c src/agent/correlate/facts.c src/agent/correlate/observers.c src/agent/correlate/activity_times.c
             src/agent/correlate/range_spans.c src/agent/correlate/join/pending.c src/agent/correlate/join/waiting.c src/agent/correlate/trace/sampler.c
             src/agent/correlate/trace/session.c src/agent/correlate/trace/steps.c src/agent/correlate/trace/step_budget.c src/agent/correlate/totals/session_overhead.c src/agent/correlate/spans/attributes.c src/agent/correlate/names/kernel_names.c src/agent/correlate/names/demangle.c src/agent/correlate/trace/devices.c
             src/agent/correlate/totals/accounts.c src/agent/correlate/counting.c src/agent/correlate/join/entry_queue.c src/agent/correlate/totals/summaries.c src/agent/correlate/totals/totals.c
             src/agent/correlate/totals/busy.c src/agent/correlate/totals/allocations.c src/agent/correlate/totals/program_stats.c src/agent/correlate/totals/step_stats.c
             src/agent/correlate/trace/ranges.c src/agent/correlate/trace/tracestates.c src/agent/correlate/join/graphs.c src/agent/correlate/join/graph_runs.c src/agent/correlate/join/gpu_counted.c src/agent/correlate/trace/named_objects.c src/agent/correlate/trace/context_errors.c src/agent/correlate/spans/span_shared.c src/agent/correlate/join/collectives.c src/agent/correlate/collective_spans.c src/agent/correlate/stacks/code_stacks.c src/agent/correlate/stacks/code_profile.c src/agent/correlate/stacks/symbols.c)
# The demangler of the C++ runtime, linked statically: no C++ runtime is needed or loaded.
if(CUSPAN_LIBRARIES)
  set(CUSPAN_DEMANGLER ${CUSPAN_LIBRARIES}/lib/libdemangle.a)
else()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libsupc++.a OUTPUT_VARIABLE CUSPAN_DEMANGLER
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
target_link_libraries(cuspan_correlate PUBLIC cuspan_model ${CUSPAN_DEMANGLER})
if(CMAKE_BUILD_TYPE MATCHES "^Rel") # the agent's image has little room
  set_source_files_properties(src/agent/correlate/stacks/symbols.c PROPERTIES COMPILE_OPTIONS -Os)
endif()
