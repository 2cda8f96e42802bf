# A program with its own profiler, linked with the replay library as such programs are with CUPTI.
add_executable(peer_host tests/integration/hosts/peer_host.c src/agent/abi/layouts.c src/agent/abi/layouts_table.c)
target_link_libraries(peer_host PRIVATE cuspan_model ${CMAKE_DL_LIBS})
add_executable(other_tool_host tests/integration/hosts/other_tool_host.c src/agent/abi/layouts.c src/agent/abi/layouts_table.c)
target_link_libraries(other_tool_host PRIVATE cuspan_model cuspan-replay Threads::Threads ${CMAKE_DL_LIBS})
# The same, with a plugin that looks CUPTI's functions up.
add_library(xla_cuda_plugin SHARED tests/integration/hosts/by_name.c)
set_target_properties(xla_cuda_plugin PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(xla_cuda_plugin PRIVATE src)
target_link_libraries(xla_cuda_plugin PRIVATE ${CMAKE_DL_LIBS})
add_executable(by_name_host tests/integration/hosts/other_tool_host.c src/agent/abi/layouts.c src/agent/abi/layouts_table.c)
target_link_libraries(by_name_host PRIVATE xla_cuda_plugin cuspan_model cuspan-replay Threads::Threads ${CMAKE_DL_LIBS})
add_test(NAME integration/others
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/other_tools_test.py --build ${CMAKE_BINARY_DIR} --sanitizers "${CUSPAN_SANITIZE}")
cuspan_unit_test(buffer_stall cuspan_capture)
