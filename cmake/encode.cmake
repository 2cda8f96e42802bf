cuspan_library(encode agent/encode)
target_link_libraries(cuspan_encode PUBLIC cuspan_model)
