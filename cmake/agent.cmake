# The library that the CUDA driver loads into a host. It needs only libc and exports only its entry points.
add_library(cuspan_agent SHARED src/agent/lifecycle/agent.c src/agent/entry/cuspan_api.c src/agent/resource/self_env.c src/agent/metrics/agent_overhead.c src/agent/entry/root_span.c src/agent/entry/send_spool.c src/agent/entry/doctor_answers.c src/agent/pipeline/pipeline.c src/agent/pipeline/pipeline_sinks.c src/agent/pipeline/pipeline_requests.c src/agent/pipeline/pipeline_end.c src/agent/pipeline/pipeline_report.c src/agent/outputs/outputs.c
            src/agent/pipeline/recorder.c src/agent/resource/deployment.c src/agent/resource/training_job.c src/agent/resource/process_context.c src/agent/resource/published_context.c
            src/agent/resource/process_resource.c src/agent/resource/detect.c src/agent/resource/host_address.c src/agent/resource/device_links.c src/agent/pipeline/native_code.c src/agent/report/report.c src/agent/pipeline/discard_sink.c
            src/agent/report/shutdown.c src/agent/lifecycle/signals.c src/agent/pipeline/last_thread.c src/agent/lifecycle/python_end.c
            src/agent/control/control_socket.c src/agent/entry/injection.c src/agent/entry/control_verbs.c src/agent/entry/agent_status.c src/agent/entry/live_stats_json.c src/agent/metrics/metrics_export.c src/agent/metrics/profiles_export.c src/agent/metrics/series.c
            src/agent/lifecycle/nvtx_entry.c src/agent/entry/python_entry.c src/agent/entry/python_tools.c src/agent/resource/nvidia_tools.c
            ${CUSPAN_SHARE_SOURCES}
            src/capture/plugin/nccl_plugin.c) # here, because it exports symbols
# What runs at the start, at the end, on request or once for each batch is compiled for size.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  file(GLOB_RECURSE agent_rare CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/*.c ${CMAKE_SOURCE_DIR}/src/share/*.c)
  list(FILTER agent_rare EXCLUDE REGEX "src/agent/(pipeline|outputs)/")
  set_property(SOURCE ${agent_rare} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
set_target_properties(cuspan_agent PROPERTIES OUTPUT_NAME cuspan LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_agent PRIVATE cuspan_config cuspan_capture cuspan_correlate cuspan_encode cuspan_export
                      cuspan_recording)
# Threads, exit hooks and CUPTI hold its addresses, so it stays loaded even if someone closes it.
target_link_options(cuspan_agent PRIVATE -Wl,-z,nodelete)
target_link_options(cuspan_agent PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/libcuspan.map
                    ${CUSPAN_HIDE_LIBS} -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_agent PRIVATE -Wl,-z,defs)
endif()
set_target_properties(cuspan_agent PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/libcuspan.map LINKER_LANGUAGE C)
