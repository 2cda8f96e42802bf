# cuspan_unit_test(NAME LIBS...): tests/unit/NAME_test.c, a cmocka program in a process of its own.
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
function(cuspan_unit_test name)
  add_executable(${name}_test tests/unit/${name}_test.c)
  target_link_libraries(${name}_test PRIVATE ${ARGN} ${CMOCKA_LIBRARY})
  add_test(NAME unit/${name} COMMAND ${name}_test)
endfunction()

foreach(stage base config capture correlate encode export replay share agent cli bounds docs)
  include(cmake/${stage}_tests.cmake OPTIONAL)
endforeach()
include(cmake/torture.cmake)
include(cmake/bench.cmake)
