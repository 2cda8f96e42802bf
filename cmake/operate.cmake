# The part of the agent in other processes: it starts, finds and checks agents.
# cJSON: the static one of the export module if there is one, so the program can be copied to other machines.
if(CUSPAN_CURL_KIND STREQUAL "static")
  set(CJSON_INCLUDE_DIR ${curl_place}/include)
  set(CLI_CJSON ${curl_place}/lib/libcjson.a)
else()
  find_path(CJSON_INCLUDE_DIR cjson/cJSON.h REQUIRED)
  find_library(CJSON_LIBRARY cjson REQUIRED)
  set(CLI_CJSON ${CJSON_LIBRARY})
endif()
cuspan_library(operate agent/operate)
target_include_directories(cuspan_operate PUBLIC ${CJSON_INCLUDE_DIR})
target_link_libraries(cuspan_operate PUBLIC cuspan_config cuspan_cli ${CLI_CJSON} ${CMAKE_DL_LIBS})
