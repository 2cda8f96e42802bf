# Benchmarks: built with the tests, run by hand (see tests/bench/*.sh).
add_library(cuspan_floor SHARED tests/bench/programs/floor.c src/agent/capture/capture.c src/agent/capture/nccl/nccl_replay.c src/agent/capture/nccl/nccl_calls.c src/agent/capture/activity/kernel_texts.c src/agent/capture/callbacks/launch_names.c src/agent/capture/switches.c src/agent/capture/sleep/mode.c src/agent/capture/stacks/launch_stacks.c src/agent/capture/stacks/code_paths.c src/agent/capture/stacks/python_find.c src/agent/capture/stacks/python_frames.c src/agent/frames/python_text.c src/agent/frames/python_layouts.c src/agent/capture/stacks/native_frames.c src/agent/capture/threads/native_stack.c src/agent/frames/eh_frame.c src/agent/capture/stacks/native_rules.c src/agent/capture/cupti/cupti.c src/model/cuda/cupti_search.c src/agent/capture/cupti/selection.c
            src/agent/capture/activity/unified_memory.c
            src/agent/capture/threads/threads.c src/agent/capture/coexist/other_tools.c src/agent/capture/coexist/buffer_stall.c src/agent/capture/callbacks/graph_nodes.c src/agent/capture/activity/buffers.c src/agent/capture/activity/decode.c src/agent/abi/layouts.c
            src/agent/abi/layouts_table.c src/agent/abi/params_table.c src/agent/capture/hardware/gpu_counters.c src/agent/capture/hardware/profiler.c src/agent/capture/hardware/profiler_host.c src/agent/capture/hardware/pm_sampler.c src/agent/capture/hardware/pm_sampling.c)
set_target_properties(cuspan_floor PROPERTIES OUTPUT_NAME cuspan-floor LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_floor PRIVATE cuspan_config cuspan_model ${CMAKE_DL_LIBS})
if(NOT CUSPAN_SANITIZE)
  target_link_options(cuspan_floor PRIVATE -Wl,-z,defs)
endif()
# The agent with a clock around its callbacks, from the same objects, so the agent itself does not change.
add_library(cuspan_timed SHARED $<TARGET_OBJECTS:cuspan_agent> tests/bench/programs/timed.c)
set_target_properties(cuspan_timed PROPERTIES OUTPUT_NAME cuspan-timed LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      LINKER_LANGUAGE C)
target_link_libraries(cuspan_timed PRIVATE $<TARGET_PROPERTY:cuspan_agent,LINK_LIBRARIES>)
target_link_options(cuspan_timed PRIVATE $<TARGET_PROPERTY:cuspan_agent,LINK_OPTIONS> -Wl,--wrap=callbacks_handle)
# The same with a switch for the stacks of launches, for tests/bench/run.sh code.
add_library(cuspan_stacks_switch SHARED $<TARGET_OBJECTS:cuspan_agent> tests/bench/programs/stacks_switch.c)
set_target_properties(cuspan_stacks_switch PROPERTIES OUTPUT_NAME cuspan-stacks-switch LINKER_LANGUAGE C
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan_stacks_switch PRIVATE $<TARGET_PROPERTY:cuspan_agent,LINK_LIBRARIES>)
target_link_options(cuspan_stacks_switch PRIVATE
                    $<FILTER:$<TARGET_PROPERTY:cuspan_agent,LINK_OPTIONS>,EXCLUDE,version-script>
                    -Wl,--version-script=${CMAKE_SOURCE_DIR}/tests/bench/programs/stacks_switch.map -Wl,--wrap=launch_stacks_take)
add_executable(null_collector tests/bench/programs/null_collector.c)
target_link_libraries(null_collector PRIVATE Threads::Threads)
add_executable(floor_host tests/integration/hosts/floor_host.c)
target_link_libraries(floor_host PRIVATE ${CMAKE_DL_LIBS})
add_executable(callback_bench tests/bench/programs/callback_bench.c)
target_link_libraries(callback_bench PRIVATE cuspan_capture)
set_target_properties(callback_bench PROPERTIES ENABLE_EXPORTS ON)
add_executable(nvtx_bench tests/bench/programs/nvtx_bench.c src/agent/capture/nvtx/nvtx.c src/agent/capture/nvtx/nvtx_names.c src/agent/capture/nvtx/nvtx_payload.c src/agent/capture/nccl/nccl_calls.c src/model/collective.c src/model/hang/live_state.c)
target_link_libraries(nvtx_bench PRIVATE cuspan_base)
add_executable(stack_bench tests/bench/programs/stack_bench.c)
target_include_directories(stack_bench PRIVATE tests/unit)
target_link_libraries(stack_bench PRIVATE cuspan_capture cuspan_correlate)
target_compile_definitions(stack_bench PRIVATE STACK_MAKER="$<TARGET_FILE:stack_maker_O2>" STACK_TOOLS="${CMAKE_BINARY_DIR}")
add_dependencies(stack_bench stack_maker_O2 cupti_stack_tool cuspan_stack_tool)
add_executable(step_bench tests/bench/programs/step_bench.c)
target_link_libraries(step_bench PRIVATE cuspan_capture cuspan_correlate)
add_executable(context_bench tests/bench/programs/context_bench.c)
target_link_libraries(context_bench PRIVATE cuspan_capture)
target_compile_definitions(context_bench PRIVATE FOLDER="$<TARGET_FILE_DIR:cuspan_thread_ctx>")
add_dependencies(context_bench cuspan_thread_ctx)
add_executable(pipeline_bench tests/bench/programs/pipeline_bench.c)
target_link_libraries(pipeline_bench PRIVATE cuspan_capture cuspan_correlate cuspan_config cuspan_encode cuspan_export cuspan_recording)
# The agent's outputs in a program of their own. tests/bench/rivals/run.sh compares it with other exporters.
add_executable(own_exporter tests/bench/programs/own_exporter.c src/agent/core/outputs/outputs.c src/agent/core/outputs/log_output.c)
target_link_libraries(own_exporter PRIVATE cuspan_config cuspan_encode cuspan_export)
add_dependencies(own_exporter cuspan_export_module)

# Checks whether a span has become more expensive. The committed figures are of the preset `release`.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT CUSPAN_SANITIZE)
  add_test(NAME bench/guard COMMAND ${CMAKE_SOURCE_DIR}/tests/bench/guard.py --build ${CMAKE_BINARY_DIR})
  set_tests_properties(bench/guard PROPERTIES SKIP_RETURN_CODE 77)
endif()
add_test(NAME integration/bench_guard COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/bench_guard_test.py)
# The callbacks of launches, for launch_stacks.py.
add_library(code_calls MODULE tests/bench/programs/code_calls.c)
target_include_directories(code_calls PRIVATE src)
