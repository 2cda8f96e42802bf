# The compressors, linked into the agent with hidden symbols. CUSPAN_GZIP is "ISA-L" or "libdeflate"; cuspan_compress is an
# interface library with it and zstd.
#
# ISA-L is the build of tools/fetch-sources.sh for this user. Without it, libdeflate is used.
option(CUSPAN_ISAL "Make gzip by the ISA-L that tools/fetch-sources.sh has built" ON)
add_library(cuspan_compress INTERFACE)

find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY libzstd.a)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_LIBRARY)
  message(FATAL_ERROR "cuspan: libzstd is missing: apt-get install libzstd-dev")
endif()
target_include_directories(cuspan_compress SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})

if(CUSPAN_LIBRARIES)
  set(isal_place ${CUSPAN_LIBRARIES})
else()
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch-sources.sh --where isal OUTPUT_VARIABLE isal_place
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_path(DEFLATE_INCLUDE_DIR libdeflate.h)
find_library(DEFLATE_LIBRARY NAMES libdeflate.a libdeflate_static.a)
if(CUSPAN_ISAL AND EXISTS ${isal_place}/stamp)
  set(CUSPAN_GZIP "ISA-L")
  set(other_gzip gzip_deflate)
  target_compile_definitions(cuspan_compress INTERFACE CUSPAN_ISAL)
  target_include_directories(cuspan_compress SYSTEM BEFORE INTERFACE ${isal_place}/include)
  target_link_libraries(cuspan_compress INTERFACE ${isal_place}/lib/libisal.a ${ZSTD_LIBRARY})
elseif(DEFLATE_INCLUDE_DIR AND DEFLATE_LIBRARY)
  message(STATUS "cuspan: gzip by libdeflate. ISA-L takes a third of its time: tools/fetch-sources.sh makes one in "
                 "${isal_place}; then configure again.")
  set(CUSPAN_GZIP "libdeflate")
  set(other_gzip gzip_isal)
  target_include_directories(cuspan_compress SYSTEM INTERFACE ${DEFLATE_INCLUDE_DIR})
  target_link_libraries(cuspan_compress INTERFACE ${DEFLATE_LIBRARY} ${ZSTD_LIBRARY})
  target_compile_definitions(cuspan_model PUBLIC CUSPAN_GZIP_GATHERS)
else()
  message(FATAL_ERROR "cuspan: nothing to make gzip with: run tools/fetch-sources.sh isal, or apt-get install libdeflate-dev")
endif()
