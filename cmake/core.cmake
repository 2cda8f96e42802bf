# The library that the CUDA driver loads into a host. It needs only libc and exports only its entry points.
cuspan_sources(agent_sources agent/core agent/share agent/capture/plugin WITHOUT "/preload\\.c$")
add_library(cuspan_agent SHARED ${agent_sources})
set_target_properties(cuspan_agent PROPERTIES OUTPUT_NAME cuspan LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_agent PRIVATE cuspan_config cuspan_capture cuspan_watch cuspan_correlate cuspan_encode cuspan_export
                      cuspan_recording)
# Threads, exit hooks and CUPTI hold its addresses, so it stays loaded even if someone closes it.
target_link_options(cuspan_agent PRIVATE -Wl,-z,nodelete)
target_link_options(cuspan_agent PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/core/libcuspan.map
                    ${CUSPAN_HIDE_LIBS} -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_agent PRIVATE -Wl,-z,defs)
endif()
set_target_properties(cuspan_agent PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/core/libcuspan.map LINKER_LANGUAGE C)
