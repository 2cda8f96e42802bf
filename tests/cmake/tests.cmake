# cuspan_unit_test(NAME LIBS...): builds tests/unit/STAGE/NAME_test.c as a cmocka program with its own process.
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
function(cuspan_unit_test name)
  file(GLOB source CONFIGURE_DEPENDS tests/unit/*/${name}_test.c)
  add_executable(${name}_test ${source})
  target_link_libraries(${name}_test PRIVATE ${ARGN} ${CMOCKA_LIBRARY})
  add_test(NAME unit/${name} COMMAND ${name}_test)
endfunction()

foreach(stage base config capture correlate encode export replay share agent cli bounds docs)
  include(tests/cmake/${stage}_tests.cmake OPTIONAL)
endforeach()
include(tests/cmake/torture.cmake)
include(tests/cmake/bench.cmake)

# Tests with more than about ten seconds of CPU time, or with long waits. They start first so that no processor is idle
# at the end. `tests/run.sh quick` leaves them out.
foreach(test agent_overload agent_repeat bench bounds_memory bounds_threads exits_exits exits_signals export_jaeger
        faults_collector faults_outage gpu_numbers manners_taken metrics otel_schema security_symbols spool_disk spool_killed
        spool_outage stat_records top)
  if(TEST integration/${test})
    set_tests_properties(integration/${test} PROPERTIES LABELS slow COST 100)
  endif()
endforeach()
if(TEST bench/guard)
  set_tests_properties(bench/guard PROPERTIES LABELS slow COST 100)
endif()
