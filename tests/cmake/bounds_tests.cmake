# Without ThreadSanitizer, which allocates memory of its own: memory, files and symbols are the same with it.
if(CUSPAN_SANITIZE STREQUAL "thread")
  return()
endif()
# Bounds on what the agent uses and reveals: tests/integration/agent/bounds_test.py and security_test.py.
if(NOT CUSPAN_SANITIZE) # sanitizers have their own allocator
  add_library(memory_watch SHARED tests/integration/doubles/memory_watch.c)
  set_target_properties(memory_watch PROPERTIES OUTPUT_NAME memory-watch C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_link_libraries(memory_watch PRIVATE ${CMAKE_DL_LIBS})
endif()
foreach(group Memory Gpu Threads Work)
  string(TOLOWER ${group} name)
  add_test(NAME integration/bounds_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/bounds_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" ${group})
endforeach()

# A host with its own allocator; and the agent's static libraries, for a host that exports functions of the same names.
if(NOT CUSPAN_SANITIZE)
  add_executable(own_malloc_host tests/integration/hosts/host.c tests/integration/doubles/own_malloc.c)
  target_link_libraries(own_malloc_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(own_malloc_host PROPERTIES ENABLE_EXPORTS ON C_VISIBILITY_PRESET default)
endif()
set(carried ${YAML_LIBRARY} ${ZSTD_LIBRARY} ${CUSPAN_ZLIB_STATIC})
if(CUSPAN_GZIP STREQUAL "ISA-L")
  list(APPEND carried ${isal_place}/lib/libisal.a)
endif()
if(CUSPAN_CURL_KIND STREQUAL "static")
  list(APPEND carried ${curl_place}/lib/libcurl.a ${curl_place}/lib/libnghttp2.a ${curl_place}/lib/libcjson.a
       ${OPENSSL_SSL_STATIC} ${OPENSSL_CRYPTO_STATIC})
else()
  set(carried "")
endif()
foreach(group Symbols Secrets Hostile Files Environment)
  string(TOLOWER ${group} name)
  add_test(NAME integration/security_${name}
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/security_test.py --build ${CMAKE_BINARY_DIR}
                   --sanitizers "${CUSPAN_SANITIZE}" --libraries "${carried}" ${group})
endforeach()
