foreach(module number protobuf json encoder profile_encoder log_encoder)
  cuspan_unit_test(${module} cuspan_encode m)
endforeach()
cuspan_unit_test(batch cuspan_model)

# Random spans, decoded by an independent decoder (fetched from PyPI by the script).
add_executable(otlp_payloads tests/integration/otlp/otlp_payloads.c)
target_link_libraries(otlp_payloads PRIVATE cuspan_encode)
add_test(NAME integration/otlp_decode
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/otlp/otlp_decode_test.sh $<TARGET_FILE:otlp_payloads>)

# With clang (but not zig, which has none) a real fuzzer that runs briefly; otherwise the same checks on random inputs.
add_executable(utf8_fuzz tests/fuzz/utf8_fuzz.c src/base/text/utf8.c)
if(CMAKE_C_COMPILER_ID MATCHES Clang AND NOT CUSPAN_LIBRARIES)
  target_compile_options(utf8_fuzz PRIVATE -fsanitize=fuzzer)
  target_link_options(utf8_fuzz PRIVATE -fsanitize=fuzzer)
  add_test(NAME fuzz/utf8 COMMAND utf8_fuzz -runs=200000 -seed=1 -max_len=128)
else()
  target_compile_definitions(utf8_fuzz PRIVATE FUZZ_STANDALONE)
  add_test(NAME fuzz/utf8 COMMAND utf8_fuzz 200000 1)
endif()

add_executable(encode_bench tests/bench/programs/encode_bench.c)
target_link_libraries(encode_bench PRIVATE cuspan_encode)
