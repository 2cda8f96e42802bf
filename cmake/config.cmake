cuspan_stage(config src/config/text/problems.c src/config/text/scalar.c src/config/text/substitute.c
             src/config/file/tree.c src/config/table/settings_list.c src/config/table/setting.c src/config/file/schema.c src/config/text/pairs.c
             src/config/file/file_reader.c src/config/file/read_file.c src/config/file/read_resource.c src/config/file/read_tracer.c src/config/file/read_exporter.c src/config/file/read_meter.c src/config/file/read_views.c
             src/config/environment/environment.c src/config/environment/values.c
             src/config/environment/overrides.c src/config/consistency.c src/config/profiles_output.c src/config/settings_print.c src/config/config.c)

# The agent has its own libyaml: a host may have another one, or none.
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(YAML_STATIC_LIBRARY NAMES libyaml.a)
if(YAML_STATIC_LIBRARY)
  set(YAML_LIBRARY ${YAML_STATIC_LIBRARY})
else()
  find_library(YAML_LIBRARY NAMES yaml REQUIRED)
  message(WARNING "libyaml.a was not found: linking the shared libyaml, which does for the tests but not for an agent "
                  "to ship. Install libyaml-dev (Debian, Ubuntu) or libyaml-static.")
endif()
if(CMAKE_BUILD_TYPE MATCHES "^Rel") # runs once in a process, and is in the agent and in the command line
  target_compile_options(cuspan_config PRIVATE -Os)
endif()
target_include_directories(cuspan_config PRIVATE ${YAML_INCLUDE_DIR})
target_link_libraries(cuspan_config PUBLIC cuspan_model cuspan_base ${YAML_LIBRARY})
