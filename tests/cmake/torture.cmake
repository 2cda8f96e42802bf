# Makes the agent's calls fail, one after the other (tests/torture/torture.py). Not with sanitizers, which have their
# own allocators and are preloaded themselves.
if(NOT CUSPAN_SANITIZE)
  add_library(torture SHARED tests/torture/interposer.c)
  target_link_libraries(torture PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(torture PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
