foreach(module text otlp_reader scale outline picture lines perfetto outcome options)
  cuspan_unit_test(${module} cuspan_cli)
  target_include_directories(${module}_test PRIVATE tests/unit ${CJSON_INCLUDE_DIR})
endforeach()

add_test(NAME integration/stat
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/stat_test.py --build ${CMAKE_BINARY_DIR})
add_test(NAME integration/cli COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli_test.sh $<TARGET_FILE:cuspan>)
