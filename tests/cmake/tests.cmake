# cuspan_unit_test(NAME LIBS...): builds NAME_test.c in a folder of tests/unit/ as a cmocka program with its own process.
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
find_path(CMOCKA_INCLUDE_DIR cmocka.h REQUIRED)
# Not for the whole folder: programs have the same commands with and without tests, so they are compiled once for both.
add_library(cuspan_cmocka INTERFACE)
target_include_directories(cuspan_cmocka SYSTEM INTERFACE ${CMOCKA_INCLUDE_DIR})
target_include_directories(cuspan_cmocka INTERFACE tests/unit)
target_link_libraries(cuspan_cmocka INTERFACE ${CMOCKA_LIBRARY})
function(cuspan_unit_test name)
  file(GLOB source CONFIGURE_DEPENDS tests/unit/*/${name}_test.c tests/unit/*/*/${name}_test.c)
  add_executable(${name}_test ${source})
  target_link_libraries(${name}_test PRIVATE ${ARGN} cuspan_cmocka)
  add_test(NAME unit/${name} COMMAND ${name}_test)
endfunction()

foreach(stage base config capture watch correlate encode export replay share agent cli bounds docs)
  include(tests/cmake/${stage}_tests.cmake OPTIONAL)
endforeach()
include(tests/cmake/torture.cmake)
include(tests/cmake/bench.cmake)

# label(LABEL TEST...): the tests that exist in this build.
function(label label)
  foreach(test ${ARGN})
    if(TEST ${test})
      set_property(TEST ${test} APPEND PROPERTY LABELS ${label})
    endif()
  endforeach()
endfunction()

# Tests with more than about ten seconds of CPU time, or with long waits. They start first so that no processor is idle
# at the end. `tests/run.sh quick` leaves them out.
set(slow integration/agent_overload integration/agent_repeat integration/bench integration/bounds_memory
    integration/bounds_threads integration/clickhouse integration/diff_statistics integration/exits_exits integration/exits_signals
    integration/export integration/export_jaeger
    integration/faults_outage integration/fleet integration/gpu_numbers integration/manners_taken integration/metrics_hardware
    integration/metrics_spool integration/metrics_totals integration/metrics_views integration/otel_schema
    integration/python_frames_all integration/read_properties
    integration/security_symbols integration/spool_disk integration/spool_killed integration/spool_outage integration/stat
    integration/stat_records integration/thread_stacks_all integration/top training/acceptance bench/guard)
label(slow ${slow})
foreach(test ${slow})
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST 100)
  endif()
endforeach()
# These start next: they take longest with sanitizers.
foreach(test integration/agent_faults integration/code integration/control_commands integration/faults_tls integration/others
        integration/read integration/registry integration/stat_segments training/jobs training/recorded training/stat_ranks
        unit/fleet_writer unit/trace_read)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST 50)
  endif()
endforeach()

# Slow only under sanitizers, which run these and the slow ones before a release (asan-slow, tsan-slow).
# In CI, fuzzers run the readers of integration/code and integration/read under sanitizers.
label(slow-sanitized integration/code integration/read integration/registry integration/stat_segments training/jobs training/recorded
      training/stat_ranks)

# Tests in which a sanitizer would find nothing: of scripts, of Python, of symbols, of how much memory is used, of probabilities.
label(release-only integration/bench integration/bench_guard integration/bounds_memory integration/clickhouse
      integration/clickhouse_schema integration/diff_statistics integration/fetch_sources integration/fleet integration/gpu_numbers
      integration/grafana_dashboards integration/processes_check integration/python_with integration/sampler_sdk
      integration/security_symbols training/acceptance)
