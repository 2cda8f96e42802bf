foreach(module process_map thread_facts native_look python_look thread_stacks)
  cuspan_unit_test(${module} cuspan_watch)
endforeach()
add_dependencies(python_look_test fake_python_full)
target_compile_definitions(python_look_test PRIVATE FAKE_PYTHON="$<TARGET_FILE:fake_python_full>")

# Looks at all threads of real Pythons, through ctypes. They cannot load a library with sanitizers.
add_library(stacks_looker SHARED tests/support/stacks_looker.c)
target_link_libraries(stacks_looker PRIVATE cuspan_watch)
set_target_properties(stacks_looker PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CUSPAN_SANITIZE)
  add_test(NAME integration/thread_stacks
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/thread_stacks_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/thread_stacks_all
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/thread_stacks_test.py --build ${CMAKE_BINARY_DIR} --all)
endif()
cuspan_unit_test(hang_report cuspan_watch cuspan_encode m)
cuspan_unit_test(watch cuspan_watch)
cuspan_unit_test(children cuspan_watch)
