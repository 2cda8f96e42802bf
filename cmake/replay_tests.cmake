cuspan_unit_test(recording cuspan_recording)

# The double is loaded as an agent loads a CUPTI.
cuspan_unit_test(replay cuspan_recording ${CMAKE_DL_LIBS})
target_sources(replay_test PRIVATE tests/replay/sample.c src/capture/params_table.c src/capture/layouts.c
                                   src/capture/layouts_table.c)
target_include_directories(replay_test PRIVATE tests/replay)
target_compile_definitions(replay_test PRIVATE REPLAY_DOUBLE="$<TARGET_FILE:cuspan-replay>"
                                               REPLAY_DOUBLE_CLASSIC="$<TARGET_FILE:cuspan-replay-classic>")
add_dependencies(replay_test cuspan-replay cuspan-replay-classic)

add_executable(replay_sample tests/replay/sample_main.c tests/replay/sample.c tests/replay/sample_graphs.c src/capture/params_table.c)
target_include_directories(replay_sample PRIVATE tests/replay)
target_link_libraries(replay_sample PRIVATE cuspan_recording)
