# cuspan_unit_test(NAME LIBS...): tests/unit/STAGE/NAME_test.c, a cmocka program in a process of its own.
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
