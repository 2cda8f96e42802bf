cuspan_library(config agent/config)
target_link_libraries(cuspan_config PUBLIC cuspan_yaml cuspan_model)
