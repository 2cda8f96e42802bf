# The part that is linked into the agent and needs only libc.
include(cmake/compress.cmake)
cuspan_library(export agent/export WITHOUT "/(curl_module/|${other_gzip}\\.c$)")
target_link_libraries(cuspan_export PUBLIC cuspan_model cuspan_base PRIVATE cuspan_compress ${CMAKE_DL_LIBS})

# The module that the sender's thread loads: libcurl, its TLS library and cJSON, behind one function.
include(cmake/curl.cmake)
cuspan_sources(module_sources agent/export/curl_module WITHOUT "/module_wraps\\.c$")
add_library(cuspan_export_module MODULE ${module_sources} src/base/files.c src/base/process/guarded_fd.c)
set_target_properties(cuspan_export_module PROPERTIES PREFIX lib OUTPUT_NAME cuspan-export
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/export/curl_module/module.map)
target_compile_options(cuspan_export_module PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(cuspan_export_module PRIVATE cuspan_curl)
if(CUSPAN_CURL_KIND STREQUAL "static")
  target_sources(cuspan_export_module PRIVATE src/agent/export/curl_module/module_wraps.c)
  target_link_options(cuspan_export_module PRIVATE -Wl,--wrap=sigaction -Wl,--wrap=signal -Wl,--wrap=socketpair -Wl,--wrap=socket
                      -Wl,--wrap=pipe -Wl,--wrap=pipe2 -Wl,--wrap=eventfd
                      -Wl,--wrap=fopen -Wl,--wrap=fopen64 -Wl,--wrap=open -Wl,--wrap=open64 -Wl,--wrap=opendir -Wl,--wrap=getaddrinfo)
endif()
target_link_options(cuspan_export_module PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/export/curl_module/module.map
                    -Wl,--wrap=pthread_create -Wl,--wrap=getenv -Wl,--wrap=secure_getenv -Wl,--as-needed -Wl,-z,now -Wl,-z,relro)
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_export_module PRIVATE -Wl,-z,defs)
endif()
