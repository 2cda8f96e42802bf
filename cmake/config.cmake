cuspan_stage(config src/yaml/problems.c src/yaml/scalar.c src/yaml/substitute.c
             src/yaml/tree.c src/agent/config/table/settings_list.c src/agent/config/table/setting.c src/agent/config/file/schema.c src/agent/config/text/pairs.c
             src/agent/config/file/file_reader.c src/agent/config/file/read_file.c src/agent/config/file/read_resource.c src/agent/config/file/read_tracer.c src/agent/config/file/read_exporter.c src/agent/config/file/read_meter.c src/agent/config/file/read_views.c
             src/agent/config/environment/environment.c src/agent/config/environment/values.c
             src/agent/config/environment/overrides.c src/agent/config/consistency.c src/agent/config/profiles_output.c src/agent/config/settings_print.c src/agent/config/config.c)

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
