# The libraries that both houses use.
cuspan_library(base base)
target_link_libraries(cuspan_base PUBLIC Threads::Threads)
cuspan_library(model model)
target_link_libraries(cuspan_model PUBLIC cuspan_base)

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
cuspan_library(yaml yaml)
target_include_directories(cuspan_yaml PRIVATE ${YAML_INCLUDE_DIR})
target_link_libraries(cuspan_yaml PUBLIC cuspan_base ${YAML_LIBRARY})
