cuspan_stage(config src/config/report.c src/config/scalar.c src/config/substitute.c src/config/nearest.c
             src/config/tree.c src/config/settings_table.c src/config/setting.c src/config/schema.c src/config/pairs.c
             src/config/read_file.c src/config/read_resource.c src/config/read_tracer.c src/config/read_exporter.c src/config/read_meter.c src/config/read_views.c
             src/config/environment.c
             src/config/overrides.c src/config/check.c src/config/print.c src/config/config.c)

# The agent carries its own libyaml: a host may have another one, or none.
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_library(YAML_STATIC_LIBRARY NAMES libyaml.a)
if(YAML_STATIC_LIBRARY)
  set(YAML_LIBRARY ${YAML_STATIC_LIBRARY})
else()
  find_library(YAML_LIBRARY NAMES yaml REQUIRED)
  message(WARNING "libyaml.a was not found: linking the shared libyaml, which does for the tests but not for an agent "
                  "to ship. Install libyaml-dev (Debian, Ubuntu) or libyaml-static.")
endif()
target_include_directories(cuspan_config PRIVATE ${YAML_INCLUDE_DIR})
target_link_libraries(cuspan_config PUBLIC cuspan_model cuspan_base ${YAML_LIBRARY})
