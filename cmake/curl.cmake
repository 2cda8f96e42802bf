# The libraries of the export module. CUSPAN_CURL is an interface library with libcurl, its TLS library and cJSON.
#
# With CUSPAN_STATIC_CURL, the libraries that tools/fetch-sources.sh built for this user are linked with hidden symbols: the
# module then needs only libc and does not interfere with a host's own libcurl or OpenSSL. Without them, the system's shared
# libraries are used, and a message reports it.
add_library(cuspan_curl INTERFACE)
set(CUSPAN_CURL_KIND "shared")

if(CUSPAN_STATIC_CURL AND NOT CUSPAN_SANITIZE)
  if(CUSPAN_LIBRARIES)
    set(curl_place ${CUSPAN_LIBRARIES})
  else()
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch-sources.sh --where curl OUTPUT_VARIABLE curl_place
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  find_library(OPENSSL_SSL_STATIC libssl.a)
  find_library(OPENSSL_CRYPTO_STATIC libcrypto.a)
  if(NOT EXISTS ${curl_place}/stamp)
    message(STATUS "cuspan: no static libcurl in ${curl_place}: the export module needs the system's shared libcurl. "
                   "tools/fetch-sources.sh makes one; then configure again.")
  elseif(NOT OPENSSL_SSL_STATIC OR NOT OPENSSL_CRYPTO_STATIC)
    message(STATUS "cuspan: libssl.a is missing (libssl-dev): the export module needs the system's shared libcurl.")
  else()
    set(CUSPAN_CURL_KIND "static")
    target_include_directories(cuspan_curl SYSTEM BEFORE INTERFACE ${curl_place}/include)
    target_compile_definitions(cuspan_curl INTERFACE CUSPAN_OWN_TLS CURL_STATICLIB CJSON_HIDE_SYMBOLS)
    # libcrypto.a may have been built with zlib and zstd (Debian 13's is). An archive whose symbols nothing uses adds
    # nothing, and --as-needed does the same for a shared library, so that both can always follow it.
    find_library(CUSPAN_CRYPTO_ZLIB NAMES libz.a z)
    find_library(CUSPAN_CRYPTO_ZSTD NAMES libzstd.a zstd)
    set(crypto_libraries ${CUSPAN_CRYPTO_ZLIB} ${CUSPAN_CRYPTO_ZSTD})
    list(FILTER crypto_libraries EXCLUDE REGEX NOTFOUND)
    target_link_libraries(cuspan_curl INTERFACE
      ${curl_place}/lib/libcurl.a ${curl_place}/lib/libnghttp2.a ${curl_place}/lib/libcjson.a
      ${OPENSSL_SSL_STATIC} ${OPENSSL_CRYPTO_STATIC} ${crypto_libraries} Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(cuspan_curl INTERFACE ${CUSPAN_HIDE_LIBS} -Wl,--gc-sections)
  endif()
endif()

if(CUSPAN_CURL_KIND STREQUAL "shared")
  find_package(CURL REQUIRED)
  find_library(CJSON_LIBRARY cjson REQUIRED)
  target_link_libraries(cuspan_curl INTERFACE CURL::libcurl ${CJSON_LIBRARY} Threads::Threads)
endif()
