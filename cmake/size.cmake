# Compiled for size, because the agent's image has little room.

if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  # Whole libraries: they wait for people, programs and networks, or run once in a process.
  foreach(library yaml config cli operate command cuspan-replay cuspan-replay-classic)
    string(REGEX REPLACE "^([a-z]+)$" "cuspan_\\1" library ${library})
    target_compile_options(${library} PRIVATE -Os)
  endforeach()
  # Of the others, folders and files that run at the start, at the end, on request, or once for each batch or table.
  cuspan_sources(of_core agent/core agent/share agent/watch WITHOUT "/core/(outputs/|pipeline/(pipeline|pipeline_sinks|discard_sink|recorder)\\.c$)")
  cuspan_sources(of_stages agent/capture/cupti agent/capture/coexist agent/capture/hardware agent/export
                 WITHOUT "/(gpu_counters\\.c$|compress/|curl_module/)") # a part of gpu_counters.c runs in callbacks
  set(reading "trace/(byte_source|documents|otlp_|parse_ahead|span_|trace_(read|segments|strings))|stat/base/(stat|samples|intervals)\\.c")
  cuspan_sources(of_commands base/log analysis WITHOUT "/analysis/(${reading})|/(parquet_encode|fleet_encode|dictionary)\\.c$")
  set_property(SOURCE ${of_core} ${of_stages} ${of_commands} APPEND PROPERTY COMPILE_OPTIONS -Os)
  foreach(file base/files base/control_path base/status base/accounting/balance base/accounting/invariant base/process/loader
          base/process/variables base/process/cpu_time base/process/guarded_fd base/text/sanitize base/text/json_writer model/renamed
          model/settings/settings model/filter model/metrics/views model/metrics/links model/gpu_counter_names
          agent/capture/switches agent/frames/eh_frame agent/capture/stacks/native_rules agent/capture/threads/native_stack
          agent/correlate/stacks/symbols agent/encode/message agent/encode/metrics agent/encode/profile_encoder)
    set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/${file}.c APPEND PROPERTY COMPILE_OPTIONS -Os)
  endforeach()
endif()

# These run on our threads, which nobody cancels, and no exception passes through them. A debugger has .debug_frame.
foreach(library cuspan_watch cuspan_recording cuspan_correlate cuspan_encode cuspan_export cuspan_cli cuspan_operate cuspan_analysis
        cuspan_command cuspan-replay cuspan-replay-classic)
  target_compile_options(${library} PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
endforeach()
