# The library that the CUDA driver loads into a host: needs libc alone, exports its entries alone.
add_library(cuspan_agent SHARED src/agent/agent.c src/agent/api.c src/agent/own.c src/agent/own_figures.c src/agent/root.c src/agent/send.c src/agent/doctor.c src/agent/pipeline.c src/agent/pipeline_sinks.c src/agent/pipeline_asked.c src/agent/pipeline_end.c src/agent/pipeline_report.c src/agent/outputs.c
            src/agent/tape.c src/agent/surroundings.c src/agent/process_context.c src/agent/published_context.c
            src/agent/own_resource.c src/agent/detect.c src/agent/device_links.c src/agent/stacks.c src/agent/report.c src/agent/retreat.c
            src/agent/shutdown.c src/agent/signals.c src/agent/alone.c src/agent/python_end.c
            src/agent/control_socket.c src/agent/control_verbs.c src/agent/status.c src/agent/figures.c src/agent/metrics.c src/agent/series.c
            src/agent/nvtx_entry.c src/agent/python.c src/agent/tools.c)
set_target_properties(cuspan_agent PROPERTIES OUTPUT_NAME cuspan LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_agent PRIVATE cuspan_config cuspan_capture cuspan_correlate cuspan_encode cuspan_export
                      cuspan_recording)
# Threads, exit hooks and CUPTI hold its addresses: it stays, whoever closes it.
target_link_options(cuspan_agent PRIVATE -Wl,-z,nodelete)
target_link_options(cuspan_agent PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/libcuspan.map
                    -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_agent PRIVATE -Wl,-z,defs)
endif()
set_target_properties(cuspan_agent PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/libcuspan.map LINKER_LANGUAGE C)
