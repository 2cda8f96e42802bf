# The library that the CUDA driver loads into a host. It needs only libc and exports only its entry points.
add_library(cuspan_agent SHARED src/agent/core/lifecycle/agent.c src/agent/core/entry/cuspan_api.c src/agent/core/resource/self_env.c src/agent/core/metrics/agent_overhead.c src/agent/core/entry/root_span.c src/agent/core/entry/send_spool.c src/agent/core/entry/doctor_answers.c src/agent/core/pipeline/pipeline.c src/agent/core/pipeline/pipeline_sinks.c src/agent/core/pipeline/pipeline_requests.c src/agent/core/pipeline/pipeline_end.c src/agent/core/pipeline/pipeline_report.c src/agent/core/outputs/outputs.c
            src/agent/core/pipeline/recorder.c src/agent/core/resource/deployment.c src/agent/core/resource/training_job.c src/agent/core/resource/process_context.c src/agent/core/resource/published_context.c
            src/agent/core/resource/process_resource.c src/agent/core/resource/detect.c src/agent/core/resource/host_address.c src/agent/core/resource/device_links.c src/agent/core/pipeline/native_code.c src/agent/core/report/report.c src/agent/core/pipeline/discard_sink.c
            src/agent/core/report/shutdown.c src/agent/core/lifecycle/signals.c src/agent/core/pipeline/last_thread.c src/agent/core/lifecycle/python_end.c
            src/agent/core/control/control_socket.c src/agent/core/entry/injection.c src/agent/core/entry/control_verbs.c src/agent/core/entry/agent_status.c src/agent/core/entry/live_stats_json.c src/agent/core/metrics/metrics_export.c src/agent/core/metrics/profiles_export.c src/agent/core/metrics/series.c
            src/agent/core/lifecycle/nvtx_entry.c src/agent/core/entry/python_entry.c src/agent/core/entry/python_tools.c src/agent/core/resource/nvidia_tools.c
            ${CUSPAN_SHARE_SOURCES}
            src/agent/capture/plugin/nccl_plugin.c) # here, because it exports symbols
# What runs at the start, at the end, on request or once for each batch is compiled for size.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  file(GLOB_RECURSE agent_rare CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/core/*.c ${CMAKE_SOURCE_DIR}/src/agent/share/*.c)
  list(FILTER agent_rare EXCLUDE REGEX "src/agent/core/(pipeline|outputs)/")
  set_property(SOURCE ${agent_rare} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
set_target_properties(cuspan_agent PROPERTIES OUTPUT_NAME cuspan LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_agent PRIVATE cuspan_config cuspan_capture cuspan_correlate cuspan_encode cuspan_export
                      cuspan_recording)
# Threads, exit hooks and CUPTI hold its addresses, so it stays loaded even if someone closes it.
target_link_options(cuspan_agent PRIVATE -Wl,-z,nodelete)
target_link_options(cuspan_agent PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/core/libcuspan.map
                    ${CUSPAN_HIDE_LIBS} -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_agent PRIVATE -Wl,-z,defs)
endif()
set_target_properties(cuspan_agent PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/core/libcuspan.map LINKER_LANGUAGE C)
