foreach(module yaml settings_table config)
  cuspan_unit_test(${module} cuspan_config)
endforeach()
target_compile_definitions(settings_table_test PRIVATE CUSPAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(yaml_test PRIVATE m)
cuspan_unit_test(resource cuspan_model)
cuspan_unit_test(config_memory cuspan_config)
foreach(function malloc calloc realloc strdup strndup)
  target_link_options(config_memory_test PRIVATE -Wl,--wrap=${function})
endforeach()

# All configurations that OpenTelemetry's schema allows. The script fetches the schema from PyPI.
if(NOT CUSPAN_SANITIZE) # 2,000 processes: the unit tests of the same files run with sanitizers
  add_test(NAME integration/otel_schema
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/cli/otel_schema_test.sh ${CMAKE_BINARY_DIR})
endif()
