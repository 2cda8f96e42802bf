# What the agent may take and what it may give away: tests/integration/bounds_test.py and security_test.py.
if(NOT CUSPAN_SANITIZE) # their allocator is another
  add_library(memory_watch SHARED tests/integration/memory_watch.c)
  set_target_properties(memory_watch PROPERTIES OUTPUT_NAME memory-watch C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(memory_watch PRIVATE ${CMAKE_DL_LIBS})
endif()
foreach(group Memory Threads Work)
  string(TOLOWER ${group} name)
  add_test(NAME integration/bounds_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/bounds_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()
