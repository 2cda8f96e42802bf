# The analysis, which reads spans.
# The libraries with which spans are read: yyjson for JSON, zstd and zlib for compressed files. Static if available,
# so the program can be copied to other machines.
if(CUSPAN_LIBRARIES)
  set(json_place ${CUSPAN_LIBRARIES})
else()
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch-sources.sh --where json OUTPUT_VARIABLE json_place
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_path(YYJSON_INCLUDE_DIR yyjson.h HINTS ${json_place}/include)
find_library(YYJSON_LIBRARY NAMES libyyjson.a yyjson HINTS ${json_place}/lib)
if(NOT YYJSON_INCLUDE_DIR OR NOT YYJSON_LIBRARY)
  message(FATAL_ERROR "cuspan: yyjson is missing: run tools/fetch-sources.sh json, or apt-get install libyyjson-dev")
endif()
find_path(CLI_ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(CLI_ZLIB_LIBRARY NAMES libz.a z REQUIRED)

# SQLite, only for `cuspan stat --sqlite`: static if available, so the program can be copied to other machines.
find_path(SQLITE_INCLUDE_DIR sqlite3.h)
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3)
if(SQLITE_INCLUDE_DIR AND SQLITE_LIBRARY)
  set(other_sqlite "/sqlite_none\\.c$")
else()
  message(STATUS "cuspan: no SQLite, so no `cuspan stat --sqlite`: apt-get install libsqlite3-dev")
  set(other_sqlite "/sqlite(_tables)?\\.c$")
endif()
cuspan_library(analysis analysis WITHOUT "${other_sqlite}")
target_include_directories(cuspan_analysis SYSTEM PRIVATE ${YYJSON_INCLUDE_DIR} ${ZSTD_INCLUDE_DIR} ${CLI_ZLIB_INCLUDE_DIR})
target_link_libraries(cuspan_analysis PUBLIC cuspan_yaml cuspan_model cuspan_cli ${YYJSON_LIBRARY} ${ZSTD_LIBRARY} ${CLI_ZLIB_LIBRARY} m)
if(SQLITE_INCLUDE_DIR AND SQLITE_LIBRARY)
  target_include_directories(cuspan_analysis SYSTEM PRIVATE ${SQLITE_INCLUDE_DIR})
  target_link_libraries(cuspan_analysis PUBLIC ${SQLITE_LIBRARY})
endif()
