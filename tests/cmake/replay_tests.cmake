cuspan_unit_test(recording cuspan_recording)

# The test loads the replay library as an agent loads CUPTI.
cuspan_unit_test(replay cuspan_recording ${CMAKE_DL_LIBS})
target_sources(replay_test PRIVATE tests/support/sample/replay_sample.c src/agent/abi/params_table.c src/agent/abi/layouts.c
                                   src/agent/abi/layouts_table.c)
target_include_directories(replay_test PRIVATE tests/support/sample)
target_compile_definitions(replay_test PRIVATE REPLAY_DOUBLE="$<TARGET_FILE:cuspan-replay>"
                                               REPLAY_DOUBLE_CLASSIC="$<TARGET_FILE:cuspan-replay-classic>")
add_dependencies(replay_test cuspan-replay cuspan-replay-classic)

add_executable(replay_sample tests/support/sample/replay_sample_main.c tests/support/sample/replay_sample.c tests/support/sample/replay_sample_graphs.c tests/support/sample/replay_sample_collectives.c src/agent/abi/params_table.c)
target_include_directories(replay_sample PRIVATE tests/support/sample)
target_link_libraries(replay_sample PRIVATE cuspan_recording)

# Recordings with stacks of launches.
add_executable(code_recording tests/support/code_recording.c)
target_link_libraries(code_recording PRIVATE cuspan_recording)
