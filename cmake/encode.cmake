cuspan_stage(encode src/encode/number.c src/encode/protobuf.c src/encode/protobuf_span.c
             src/encode/protobuf_request.c src/encode/json.c src/encode/encoder.c
             src/encode/protobuf_metrics.c src/encode/json_metrics.c src/encode/profile_encoder.c)
target_link_libraries(cuspan_encode PUBLIC cuspan_model)
# Once for each export.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  set_property(SOURCE src/encode/protobuf_metrics.c src/encode/json_metrics.c src/encode/profile_encoder.c APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
