foreach(module process_map thread_facts native_look)
  cuspan_unit_test(${module} cuspan_watch)
endforeach()

# Looks at all threads of real Pythons, through ctypes. They cannot load a library with sanitizers.
add_library(stacks_looker SHARED tests/support/stacks_looker.c)
target_link_libraries(stacks_looker PRIVATE cuspan_watch)
set_target_properties(stacks_looker PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CUSPAN_SANITIZE)
  add_test(NAME integration/thread_stacks
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/thread_stacks_test.py --build ${CMAKE_BINARY_DIR} --all)
endif()
