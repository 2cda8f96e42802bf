foreach(module text otlp_reader scale outline picture span_lines perfetto outcome options doctor repeats compare estimate overhead top_sample top_screen)
  cuspan_unit_test(${module} cuspan_cli)
  target_include_directories(${module}_test PRIVATE tests/unit ${CJSON_INCLUDE_DIR})
endforeach()

if(NOT CUSPAN_SANITIZE STREQUAL "thread") # the CLI has one thread
  add_test(NAME integration/stat
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/stat_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/findings
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/findings_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/stat_memory
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/stat_memory_test.py --build ${CMAKE_BINARY_DIR})
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
add_library(fake_nvml SHARED tests/integration/doubles/fake_nvml.c)
set_target_properties(fake_nvml PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} NO_SONAME TRUE)
target_link_options(fake_nvml PRIVATE -Wl,-soname,libnvidia-ml.so.1)
cuspan_unit_test(nvml cuspan_capture ${CMAKE_DL_LIBS})
target_compile_definitions(nvml_test PRIVATE FAKE_NVML="$<TARGET_FILE:fake_nvml>")
add_dependencies(nvml_test fake_nvml)
if(NOT CUSPAN_SANITIZE STREQUAL "thread")
  foreach(topic totals exemplars views hardware operations spool)
    add_test(NAME integration/metrics_${topic}
             COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/metrics_test.sh ${topic} ${CMAKE_BINARY_DIR})
  endforeach()
endif()
if(NOT CUSPAN_SANITIZE STREQUAL "thread") # many processes, and no further kind of thread
  add_test(NAME integration/overhead
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/overhead_test.py --build ${CMAKE_BINARY_DIR})
endif()
if(NOT CUSPAN_SANITIZE STREQUAL "thread") # the CLI has one thread
  add_test(NAME integration/top COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/top_test.sh ${CMAKE_BINARY_DIR})
endif()
add_test(NAME integration/cli COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/cli_test.sh $<TARGET_FILE:cuspan>)

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
