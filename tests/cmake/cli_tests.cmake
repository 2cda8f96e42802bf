foreach(module parquet_encode dictionary fleet_writer stack_lines range_lines forward_lines kernel_lines code_book source_lines flame_tree
        otlp_reader trace_read scale outline picture step_ranks span_lines perfetto repeats samples intervals compare
        ranks_match ranks_clocks ranks_delay ranks_stages hang_model hang_analyze hang_read)
  cuspan_unit_test(${module} cuspan_analysis)
endforeach()
target_include_directories(perfetto_test PRIVATE ${CJSON_INCLUDE_DIR})
target_link_libraries(perfetto_test PRIVATE ${CLI_CJSON})
foreach(module text paged)
  cuspan_unit_test(${module} cuspan_cli)
endforeach()
foreach(module outcome doctor cdi sleepers remote_memory seccomp_check library_trust container attach_target attach_machine)
  cuspan_unit_test(${module} cuspan_operate)
endforeach()
foreach(module options estimate overhead top_sample top_ranks top_screen)
  cuspan_unit_test(${module} cuspan_command)
endforeach()

if(NOT CUSPAN_SANITIZE STREQUAL "thread") # the reader's second thread runs in unit/trace_read
  add_test(NAME integration/stat
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/stat_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/export
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/export_test.sh ${CMAKE_BINARY_DIR})
  add_test(NAME integration/clickhouse COMMAND ${CMAKE_SOURCE_DIR}/tests/fleet/clickhouse_test.sh ${CMAKE_BINARY_DIR})
  add_test(NAME integration/fleet
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/fleet_test.sh ${CMAKE_BINARY_DIR})
  add_test(NAME integration/code
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/code_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/engine_tables
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/engine_tables_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/findings
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/findings_test.py --build ${CMAKE_BINARY_DIR})
  add_executable(stat_read tests/support/stat_read.c)
  target_include_directories(stat_read PRIVATE src)
  target_link_libraries(stat_read PRIVATE cuspan_analysis)
  add_test(NAME integration/read
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/read_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/read_properties
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/read_property_test.sh ${CMAKE_BINARY_DIR})
  add_executable(stat_segments tests/support/stat_segments.c)
  target_include_directories(stat_segments PRIVATE src)
  target_link_libraries(stat_segments PRIVATE cuspan_analysis)
  add_test(NAME integration/stat_segments
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/stat_segments_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/stat_memory
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/stat_memory_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/memory_code
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/memory_code_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/stat_records
           COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/numbers/tables_check_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/gpu_numbers
           COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/numbers/numbers_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}")
  add_test(NAME integration/diff
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/diff_test.py --build ${CMAKE_BINARY_DIR} Diff)
  add_test(NAME integration/diff_statistics
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/diff_test.py --build ${CMAKE_BINARY_DIR} Statistics)
endif()
# The agent's own reports are read.
cuspan_unit_test(hang_logs cuspan_analysis cuspan_watch cuspan_encode m)
# Hangs: simulated jobs, written by the agent's writer of live states.
add_executable(hang_simulate tests/hang/simulate.c tests/hang/simulator.c)
target_include_directories(hang_simulate PRIVATE tests)
target_link_libraries(hang_simulate PRIVATE cuspan_analysis)
add_test(NAME hang/simulate COMMAND hang_simulate 12)
add_executable(hang_ranks tests/hang/ranks.c tests/hang/simulator.c)
target_include_directories(hang_ranks PRIVATE tests)
target_link_libraries(hang_ranks PRIVATE cuspan_analysis)
add_test(NAME integration/engines_check COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/engines_check_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hangs_check COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/hangs_check_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hang_ras COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/hang_ras_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hang_field COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/hang_field_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hang_recorded COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/hang_recorded_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hang_gather COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/hang_gather_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/hang COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/hang_test.py --build ${CMAKE_BINARY_DIR})
if(NOT CUSPAN_SANITIZE) # Python loads the agent
  add_test(NAME training/hang_example COMMAND ${CMAKE_SOURCE_DIR}/tests/training/hang_example_test.py --build ${CMAKE_BINARY_DIR})
endif()
# The analysis across ranks; also on simulated jobs.
add_executable(ranks_driver tests/training/ranks_driver.c)
target_link_libraries(ranks_driver PRIVATE cuspan_analysis)
add_executable(records_to_otlp tests/training/records_to_otlp.c)
if(NOT CUSPAN_SANITIZE STREQUAL "thread") # the reader's second thread runs in unit/trace_read
  add_test(NAME training/acceptance
           COMMAND ${CMAKE_SOURCE_DIR}/tests/training/acceptance.py --driver $<TARGET_FILE:ranks_driver>)
  add_test(NAME training/stat_ranks
           COMMAND ${CMAKE_SOURCE_DIR}/tests/training/stat_ranks_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/registry
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/registry_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME training/recorded
           COMMAND ${CMAKE_SOURCE_DIR}/tests/training/recorded_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME training/jobs
           COMMAND ${CMAKE_SOURCE_DIR}/tests/training/jobs_test.py --build ${CMAKE_BINARY_DIR} --quick)
endif()
add_library(fake_nvml SHARED tests/integration/doubles/fake_nvml.c)
set_target_properties(fake_nvml PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} NO_SONAME TRUE)
target_link_options(fake_nvml PRIVATE -Wl,-soname,libnvidia-ml.so.1)
cuspan_unit_test(nvml cuspan_capture ${CMAKE_DL_LIBS})
target_compile_definitions(nvml_test PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(nvml_test fake_nvml)
if(NOT CUSPAN_SANITIZE STREQUAL "thread")
  foreach(topic totals exemplars views hardware operations spool steps engines)
    add_test(NAME integration/metrics_${topic}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/metrics_test.sh ${topic} ${CMAKE_BINARY_DIR})
  endforeach()
endif()
if(NOT CUSPAN_SANITIZE STREQUAL "thread") # many processes, and no further kind of thread
  add_test(NAME integration/cdi
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/cdi_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/overhead
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/overhead_test.py --build ${CMAKE_BINARY_DIR})
endif()
if(NOT CUSPAN_SANITIZE STREQUAL "thread") # the reader's second thread runs in unit/trace_read
  add_test(NAME integration/top COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/top_test.sh ${CMAKE_BINARY_DIR})
endif()
add_test(NAME integration/run_anywhere
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/run_anywhere_test.py --build ${CMAKE_BINARY_DIR} --sanitizers "${CUSPAN_SANITIZE}")
add_test(NAME integration/cli COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/cli_test.sh $<TARGET_FILE:cuspan>)
foreach(shell zsh fish)
  add_test(NAME integration/completion_${shell}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/completion_test.py ${shell} $<TARGET_FILE:cuspan>)
  set_tests_properties(integration/completion_${shell} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# Stand-ins for the driver, NVML and CUPTI in which `cuspan doctor` finds faults.
add_library(fake_cuda SHARED tests/integration/doubles/fake_cuda.c)
target_link_libraries(fake_cuda PRIVATE ${CMAKE_DL_LIBS})
if(CUSPAN_SANITIZE) # an unsanitized program cannot load sanitized libraries
  target_compile_options(fake_cuda PRIVATE -fno-sanitize=all)
  target_link_options(fake_cuda PRIVATE -fno-sanitize=all)
endif()
set_target_properties(fake_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CUSPAN_SANITIZE STREQUAL "thread")
  foreach(topic driver setup collector machine program)
    add_test(NAME integration/doctor_${topic}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/doctor_${topic}_test.py --build ${CMAKE_BINARY_DIR}
                     --sanitizers "${CUSPAN_SANITIZE}")
  endforeach()
endif()
