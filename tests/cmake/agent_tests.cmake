# The agent is one shared library with hidden symbols, so its modules are tested from their sources.
find_library(CJSON_LIBRARY cjson REQUIRED)
cuspan_unit_test(report cuspan_capture ${CJSON_LIBRARY})
target_sources(report_test PRIVATE src/agent/lifecycle/report.c src/agent/metrics/agent_overhead.c src/agent/lifecycle/shutdown.c src/export/last_error.c)
cuspan_unit_test(series cuspan_model)
target_sources(series_test PRIVATE src/agent/metrics/series.c)
cuspan_unit_test(outputs cuspan_encode cuspan_export)
target_sources(outputs_test PRIVATE src/agent/pipeline/outputs.c)
cuspan_unit_test(detect cuspan_config)
target_sources(detect_test PRIVATE src/agent/resource/detect.c src/agent/resource/host_address.c src/agent/resource/self_env.c src/agent/resource/deployment.c)
cuspan_unit_test(device_links cuspan_config)
target_sources(device_links_test PRIVATE src/agent/resource/device_links.c src/agent/resource/detect.c src/agent/resource/host_address.c src/agent/resource/self_env.c src/agent/resource/deployment.c)
cuspan_unit_test(process_resource cuspan_capture cuspan_encode cuspan_config)
target_sources(process_resource_test PRIVATE src/agent/resource/process_resource.c src/agent/resource/process_context.c src/agent/resource/published_context.c
               src/agent/resource/detect.c src/agent/resource/host_address.c src/agent/resource/self_env.c src/agent/resource/deployment.c)
foreach(module deployment process_context)
  cuspan_unit_test(${module} cuspan_config)
  target_sources(${module}_test PRIVATE src/agent/resource/${module}.c src/agent/resource/self_env.c)
endforeach()
cuspan_unit_test(training_job cuspan_correlate cuspan_config)
target_sources(training_job_test PRIVATE src/agent/resource/training_job.c src/agent/resource/self_env.c src/agent/resource/deployment.c)
cuspan_unit_test(child_environment ${CMAKE_DL_LIBS})
cuspan_unit_test(discard_sink cuspan_base)
target_sources(discard_sink_test PRIVATE src/agent/pipeline/discard_sink.c)
cuspan_unit_test(recorder cuspan_capture cuspan_correlate cuspan_recording)
target_sources(recorder_test PRIVATE src/agent/pipeline/recorder.c src/agent/pipeline/native_code.c)
cuspan_unit_test(native_code cuspan_capture cuspan_correlate)
target_sources(native_code_test PRIVATE src/agent/pipeline/native_code.c)
target_compile_definitions(native_code_test PRIVATE MANY_FUNCTIONS="$<TARGET_FILE:many_functions>")
add_dependencies(native_code_test many_functions)

# The real agent on real recordings, in the CLI and in a host that loads it like the driver.
add_executable(agent_host tests/integration/hosts/host.c)
target_link_libraries(agent_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
# It exports its functions' names to the loader.
add_executable(stack_host tests/integration/hosts/stack_host.c)
target_include_directories(stack_host PRIVATE src)
target_link_libraries(stack_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(stack_host PROPERTIES ENABLE_EXPORTS ON)
add_executable(native_program tests/integration/hosts/native_program.c tests/unit/support/many_functions.c)
target_include_directories(native_program PRIVATE src)
target_link_libraries(native_program PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(NOT CUSPAN_SANITIZE)
  add_test(NAME integration/launch_stacks
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/launch_stacks_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/stacks COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/stacks_test.py --build ${CMAKE_BINARY_DIR})
endif()
add_test(NAME integration/profiles
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/profiles_test.sh ${CMAKE_BINARY_DIR})
add_executable(api_host tests/integration/hosts/api_host.c)
target_link_libraries(api_host PRIVATE ${CMAKE_DL_LIBS})
add_executable(control_host tests/integration/hosts/control_host.c)
target_link_libraries(control_host PRIVATE ${CMAKE_DL_LIBS})
add_executable(nccl_job_host tests/integration/hosts/nccl_job_host.c)
target_include_directories(nccl_job_host PRIVATE src)
target_link_libraries(nccl_job_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_executable(cycling_host tests/integration/hosts/cycling_host.c)
target_include_directories(cycling_host PRIVATE src)
target_link_libraries(cycling_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set(control_cycles 1000)
set(control_groups Waiting Commands Socket Figures Stopping Release Cycles)
if(CUSPAN_SANITIZE)
  set(control_cycles 100)
endif()
if(CUSPAN_SANITIZE STREQUAL "thread") # the other tests use no further threads
  set(control_groups Stopping Release Cycles)
endif()
foreach(group ${control_groups})
  string(TOLOWER ${group} name)
  add_test(NAME integration/control_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/control_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" --cycles ${control_cycles} ${group})
endforeach()
add_executable(publish_host tests/integration/hosts/publish_host.c tests/unit/support/thread_ctx_reader.c)
target_include_directories(publish_host PRIVATE src tests/unit)
target_link_libraries(publish_host PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(publish_host cuspan_thread_ctx)
add_executable(polling_host tests/integration/hosts/polling_host.c)
target_include_directories(polling_host PRIVATE src)
target_link_libraries(polling_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# Programs that forbid, close, limit, cancel or unload what the agent needs. Sanitizers need that for themselves.
if(NOT CUSPAN_SANITIZE)
  add_executable(hostile_host tests/integration/hosts/hostile_host.c)
  target_include_directories(hostile_host PRIVATE src include)
  target_link_libraries(hostile_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_test(NAME integration/hostile_hosts
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/hostile_hosts_test.py --build ${CMAKE_BINARY_DIR})
endif()
# Each way in which a host ends, and the host's own state that the agent must not change.
add_executable(exit_host tests/integration/hosts/exit_host.c tests/integration/hosts/exit_host_throw.cpp)
target_include_directories(exit_host PRIVATE src include)
target_link_libraries(exit_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_executable(manners_host tests/integration/hosts/manners_host.c)
target_include_directories(manners_host PRIVATE src)
target_link_libraries(manners_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(manners_host PROPERTIES ENABLE_EXPORTS ON C_VISIBILITY_PRESET default)
add_library(fake_driver SHARED tests/integration/doubles/fake_driver.c)
set_target_properties(fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT CUSPAN_SANITIZE)
  add_library(getenv_watch SHARED tests/integration/doubles/getenv_watch.c)
  target_link_libraries(getenv_watch PRIVATE ${CMAKE_DL_LIBS})
endif()
foreach(group Children Effects Standard Taken)
  string(TOLOWER ${group} name)
  add_test(NAME integration/manners_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/manners_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()
# Under ThreadSanitizer these two groups of many processes take minutes and time out, and its runtime handles signals
# itself.
set(exits_groups Exits Signals Shutdown)
if(CUSPAN_SANITIZE STREQUAL "thread")
  set(exits_groups Shutdown)
endif()
foreach(group ${exits_groups})
  string(TOLOWER ${group} name)
  add_test(NAME integration/exits_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/exits_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()
if(NOT CUSPAN_SANITIZE) # sanitizers have their own allocator
  add_executable(agent_host_watched tests/integration/hosts/host.c tests/integration/hosts/host_watch.c)
  target_link_libraries(agent_host_watched PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  target_link_options(agent_host_watched PRIVATE -Wl,-z,now) # as in cmake/replay.cmake
  set_target_properties(agent_host_watched PROPERTIES ENABLE_EXPORTS ON C_VISIBILITY_PRESET default)
endif()
function(cuspan_agent_tests file)
  foreach(group ${ARGN})
    string(TOLOWER ${group} name)
    add_test(NAME integration/agent_${name}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/${file} --build ${CMAKE_BINARY_DIR}
                     --sanitizers "${CUSPAN_SANITIZE}" ${group})
  endforeach()
endfunction()
cuspan_agent_tests(agent_test.py Replay Graphs GraphKinds Repeat Soak Filters)
cuspan_agent_tests(agent_faults_test.py Faults Overload)
cuspan_agent_tests(agent_host_test.py Host Control Published Library)
cuspan_agent_tests(agent_requests_test.py Requests Summary Context)
cuspan_agent_tests(steps_test.py Steps CollectiveSteps)
cuspan_agent_tests(collectives_test.py Collectives)
cuspan_agent_tests(agent_outputs_test.py Outputs Command Processes)
add_test(NAME integration/processes_check COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/processes_check_test.py)

# NVTX's handlers with a recorder instead of the agent, for tests/integration/agent/nvtx_test.py.
add_library(nvtx_witness SHARED tests/integration/doubles/nvtx_witness.c src/capture/nvtx/nvtx.c src/capture/nvtx/nvtx_names.c src/capture/nvtx/nvtx_payload.c src/capture/nccl/nccl_calls.c src/model/collective.c)
target_link_libraries(nvtx_witness PRIVATE cuspan_base)
set_target_properties(nvtx_witness PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

# The agent with invariants that can be made to fail (CUSPAN_BREAK names a file): all files with any, compiled again.
file(GLOB_RECURSE CUSPAN_SOURCES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS src/*.c)
set(breakable_sources src/base/invariant.c)
foreach(source ${CUSPAN_SOURCES})
  file(STRINGS ${source} invariants REGEX "INVARIANT(_OR_NULL)?\\(")
  if(invariants AND NOT source MATCHES "^src/agent/")
    list(APPEND breakable_sources ${source})
  endif()
endforeach()
get_target_property(agent_sources cuspan_agent SOURCES)
add_library(cuspan_breakable SHARED ${agent_sources} ${breakable_sources})
target_compile_definitions(cuspan_breakable PRIVATE CUSPAN_BREAKABLE)
target_link_libraries(cuspan_breakable PRIVATE cuspan_config cuspan_capture cuspan_correlate cuspan_encode cuspan_export
                      cuspan_recording)
target_link_options(cuspan_breakable PRIVATE -Wl,-z,nodelete ${CUSPAN_HIDE_LIBS} -Wl,--as-needed
                    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/libcuspan.map)
set_target_properties(cuspan_breakable PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} LINKER_LANGUAGE C)
add_test(NAME integration/broken COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/invariant_test.py --build ${CMAKE_BINARY_DIR})
# Hardware counters, with the replay library and a driver that has some.
add_library(gpu_driver SHARED tests/integration/doubles/gpu_driver.c)
set_target_properties(gpu_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 C_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu_driver)
add_test(NAME integration/counters
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/counters_test.py --build ${CMAKE_BINARY_DIR}
                 --sanitizers "${CUSPAN_SANITIZE}")
