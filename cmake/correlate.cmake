cuspan_stage(correlate src/correlate/correlate.c src/correlate/work.c src/correlate/call_spans.c src/correlate/activity_spans.c
             src/correlate/range_spans.c src/correlate/pending.c src/correlate/waiting.c src/correlate/sampler.c
             src/correlate/session.c src/correlate/own_cost.c src/correlate/attributes.c src/correlate/names.c src/correlate/demangle.c src/correlate/devices.c src/correlate/workers.c
             src/correlate/accounts.c src/correlate/counting.c src/correlate/lingering.c src/correlate/summaries.c src/correlate/totals.c
             src/correlate/busy.c src/correlate/allocations.c src/correlate/figures.c
             src/correlate/ranges.c src/correlate/states.c src/correlate/graphs.c src/correlate/gpu_counted.c src/correlate/objects.c src/correlate/context_errors.c src/correlate/shared.c)
# The C++ runtime's demangler, linked in statically: no C++ runtime is needed or loaded.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libsupc++.a OUTPUT_VARIABLE CUSPAN_SUPCXX
                OUTPUT_STRIP_TRAILING_WHITESPACE)
target_link_libraries(cuspan_correlate PUBLIC cuspan_model ${CUSPAN_SUPCXX})
