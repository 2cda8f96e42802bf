find_package(ZLIB REQUIRED) # the tests decompress with it
foreach(module retry otlp_response grpc verdict percent secrets headers compress file_output operations exporter sender spool probe)
  cuspan_unit_test(${module} cuspan_export)
endforeach()
target_link_libraries(compress_test PRIVATE ZLIB::ZLIB)
target_link_options(compress_test PRIVATE -Wl,--wrap=malloc -Wl,--wrap=calloc)

target_sources(sender_test PRIVATE tests/unit/support/http_server.c)
target_link_libraries(sender_test PRIVATE cuspan_compress ZLIB::ZLIB ${CMAKE_DL_LIBS})
set_target_properties(sender_test PROPERTIES ENABLE_EXPORTS ON) # the module must use its getaddrinfo
target_compile_definitions(sender_test PRIVATE CUSPAN_EXPORT_MODULE="$<TARGET_FILE:cuspan_export_module>")
add_dependencies(sender_test cuspan_export_module)
# A proxy of the developer's must not be used between the test and its server.
set_tests_properties(unit/sender PROPERTIES ENVIRONMENT "no_proxy=*")

target_link_libraries(probe_test PRIVATE cuspan_compress ZLIB::ZLIB)

# Sources that only the module has.
cuspan_unit_test(json_response cuspan_curl)
target_sources(json_response_test PRIVATE src/agent/export/curl_module/json_response.c)

if(CUSPAN_CURL_KIND STREQUAL "static")
  cuspan_unit_test(module cuspan_export)
  target_link_libraries(module_test PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(module_test PROPERTIES ENABLE_EXPORTS ON) # a host that exports its functions
  target_compile_definitions(module_test PRIVATE CUSPAN_EXPORT_MODULE="$<TARGET_FILE:cuspan_export_module>")
  add_dependencies(module_test cuspan_export_module)
endif()

add_executable(compress_bench tests/bench/programs/compress_bench.c)
target_link_libraries(compress_bench PRIVATE cuspan_export)

# Both gzip libraries, if both are installed.
foreach(both compress_test compress_bench)
  target_link_libraries(${both} PRIVATE cuspan_compress)
  if(CUSPAN_GZIP STREQUAL "ISA-L" AND DEFLATE_INCLUDE_DIR AND DEFLATE_LIBRARY)
    target_sources(${both} PRIVATE src/agent/export/compress/gzip_deflate.c)
    target_include_directories(${both} PRIVATE ${DEFLATE_INCLUDE_DIR})
    target_link_libraries(${both} PRIVATE ${DEFLATE_LIBRARY})
  endif()
  if(CUSPAN_GZIP STREQUAL "libdeflate" OR DEFLATE_LIBRARY)
    target_compile_definitions(${both} PRIVATE CUSPAN_DEFLATE)
  endif()
endforeach()

# The exporter with a real Jaeger, whose path is in JAEGER.
add_executable(export_client tests/integration/otlp/export_client.c)
target_link_libraries(export_client PRIVATE cuspan_export)
target_compile_definitions(export_client PRIVATE CUSPAN_EXPORT_MODULE="$<TARGET_FILE:cuspan_export_module>")
add_dependencies(export_client cuspan_export_module)
add_test(NAME integration/export_jaeger
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/otlp/export_jaeger.sh $<TARGET_FILE:export_client>)
set_tests_properties(integration/export_jaeger PROPERTIES SKIP_RETURN_CODE 77)

# The agent with a server that misbehaves (tests/support/bad_server.py) and with a name service and a clock that the
# test controls.
add_executable(faults_host tests/integration/hosts/faults_host.c tests/integration/doubles/faults_doubles.c)
target_include_directories(faults_host PRIVATE src)
target_link_libraries(faults_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(faults_host PROPERTIES ENABLE_EXPORTS ON)
# The clock as a library to preload, which therefore cannot be sanitized.
add_library(faults_doubles SHARED tests/integration/doubles/faults_doubles.c)
target_link_libraries(faults_doubles PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(faults_doubles PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(CUSPAN_SANITIZE)
  target_compile_options(faults_doubles PRIVATE -fno-sanitize=all)
  target_link_options(faults_doubles PRIVATE -fno-sanitize=all)
endif()
# With ThreadSanitizer, the tests of one thread and of time are left out: the others run the same threads.
set(faults_groups Connections Tls Proxies Names Collector)
if(NOT CUSPAN_SANITIZE STREQUAL "thread")
  list(APPEND faults_groups Answers Grpc Outage)
endif()
foreach(group ${faults_groups})
  string(TOLOWER ${group} name)
  add_test(NAME integration/faults_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/delivery/faults_${name}_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()

# The spool with the whole agent and cuspan send; --long simulates an hour's outage.
# With sanitizers the groups of many processes would take many minutes; other tests run the same code.
set(spool_groups Outage Killed Shared Disk Send)
if(CUSPAN_SANITIZE)
  set(spool_groups Shared Disk Send)
endif()
if(CUSPAN_SANITIZE STREQUAL "thread")
  set(spool_groups Shared Send)
endif()
foreach(group ${spool_groups})
  string(TOLOWER ${group} name)
  add_test(NAME integration/spool_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/delivery/spool_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()
