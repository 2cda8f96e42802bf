# The part that is linked into the agent and needs only libc.
include(cmake/compress.cmake)
cuspan_stage(export src/agent/export/exporter.c src/agent/export/delivery/last_error.c src/agent/export/delivery/operations.c src/agent/export/delivery/delivery_control.c src/agent/export/file_output.c src/agent/export/delivery/request_body.c src/agent/export/otlp/sender.c src/agent/export/spool/spool.c
             src/agent/export/spool/spool_writer.c src/agent/export/spool/spool_source.c src/agent/export/spool/spool_recovery.c src/agent/export/spool/spool_files.c
             src/agent/export/spool/spool_format.c src/agent/export/spool/spool_drain.c src/agent/export/spool/json_spans.c src/agent/export/otlp/headers.c
             src/agent/export/otlp/secrets.c ${compress_sources} src/agent/export/otlp/grpc.c src/agent/export/otlp/retry.c src/agent/export/otlp/percent.c src/agent/export/otlp/verdict.c src/agent/export/otlp/probe.c
             src/agent/export/otlp/otlp_response.c src/agent/export/otlp/transport_load.c)
target_link_libraries(cuspan_export PUBLIC cuspan_model cuspan_base PRIVATE cuspan_compress ${CMAKE_DL_LIBS})

# A batch passes here once: compiled for size, except the compressors.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  file(GLOB export_by_batch CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/export/*.c ${CMAKE_SOURCE_DIR}/src/agent/export/delivery/*.c
       ${CMAKE_SOURCE_DIR}/src/agent/export/otlp/*.c ${CMAKE_SOURCE_DIR}/src/agent/export/spool/*.c)
  set_property(SOURCE ${export_by_batch} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()

# The module that the sender's thread loads: libcurl, its TLS library and cJSON, behind one function.
include(cmake/curl.cmake)
add_library(cuspan_export_module MODULE src/agent/export/curl_module/curl_transport.c src/agent/export/curl_module/curl_explain.c src/agent/export/curl_module/curl_sockets.c
            src/agent/export/curl_module/json_response.c src/agent/export/curl_module/module_libc.c src/base/files.c src/base/process/guarded_fd.c src/base/high_fd.c)
set_target_properties(cuspan_export_module PROPERTIES PREFIX lib OUTPUT_NAME cuspan-export
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/export/curl_module/module.map)
target_compile_options(cuspan_export_module PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(cuspan_export_module PRIVATE cuspan_curl)
if(CUSPAN_CURL_KIND STREQUAL "static")
  target_sources(cuspan_export_module PRIVATE src/agent/export/curl_module/no_signals.c src/agent/export/curl_module/module_descriptors.c)
  target_link_options(cuspan_export_module PRIVATE -Wl,--wrap=sigaction -Wl,--wrap=signal -Wl,--wrap=socketpair -Wl,--wrap=socket
                      -Wl,--wrap=pipe -Wl,--wrap=pipe2 -Wl,--wrap=eventfd
                      -Wl,--wrap=fopen -Wl,--wrap=fopen64 -Wl,--wrap=open -Wl,--wrap=open64 -Wl,--wrap=opendir -Wl,--wrap=getaddrinfo)
endif()
target_link_options(cuspan_export_module PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/export/curl_module/module.map
                    -Wl,--wrap=pthread_create -Wl,--wrap=getenv -Wl,--wrap=secure_getenv -Wl,--as-needed -Wl,-z,now -Wl,-z,relro)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_export_module PRIVATE -Wl,-z,defs)
endif()
