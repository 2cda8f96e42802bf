# What makes calls of the agent's fail, one after the other (tests/torture/torture.py). A sanitizer's allocator is
# another, and is preloaded itself: not there.
if(NOT CUSPAN_SANITIZE)
  add_library(torture SHARED tests/torture/interposer.c)
  target_link_libraries(torture PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(torture PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
