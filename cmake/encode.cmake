cuspan_stage(encode src/agent/encode/number.c src/agent/encode/protobuf.c src/agent/encode/protobuf_span.c
             src/agent/encode/protobuf_request.c src/agent/encode/json.c src/agent/encode/encoder.c
             src/agent/encode/protobuf_metrics.c src/agent/encode/json_metrics.c src/agent/encode/profile_encoder.c)
target_link_libraries(cuspan_encode PUBLIC cuspan_model)
# Once for each export.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  set_property(SOURCE src/agent/encode/protobuf_metrics.c src/agent/encode/json_metrics.c src/agent/encode/profile_encoder.c APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
