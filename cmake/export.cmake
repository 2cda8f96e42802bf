# What goes into the agent. libdeflate is linked in: the agent needs libc alone.
find_path(DEFLATE_INCLUDE_DIR libdeflate.h)
find_library(DEFLATE_LIBRARY NAMES libdeflate.a libdeflate_static.a)
if(NOT DEFLATE_INCLUDE_DIR OR NOT DEFLATE_LIBRARY)
  message(FATAL_ERROR "cuspan: libdeflate is missing: apt-get install libdeflate-dev")
endif()
cuspan_stage(export src/export/exporter.c src/export/control.c src/export/file.c src/export/sender.c src/export/headers.c
             src/export/secrets.c src/export/gzip.c src/export/grpc.c src/export/retry.c src/export/percent.c src/export/verdict.c
             src/export/otlp_response.c src/export/transport_load.c)
target_include_directories(cuspan_export PRIVATE ${DEFLATE_INCLUDE_DIR})
target_link_libraries(cuspan_export PUBLIC cuspan_model cuspan_base PRIVATE ${DEFLATE_LIBRARY} ${CMAKE_DL_LIBS})

# What the sender's thread loads: libcurl, its TLS library and cJSON, behind one function.
include(cmake/curl.cmake)
add_library(cuspan_export_module MODULE src/export/curl_transport.c src/export/json_response.c)
set_target_properties(cuspan_export_module PROPERTIES PREFIX lib OUTPUT_NAME cuspan-export
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/export/module.map)
target_compile_options(cuspan_export_module PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(cuspan_export_module PRIVATE cuspan_curl)
target_link_options(cuspan_export_module PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/export/module.map
                    -Wl,--as-needed -Wl,-z,now -Wl,-z,relro)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_export_module PRIVATE -Wl,-z,defs)
endif()
