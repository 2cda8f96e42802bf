# The only stage that uses CUPTI. tools/gen_cupti_tables.py generates params_table.c and layouts_table.c.
cuspan_stage(capture src/capture/capture.c src/capture/switches.c src/capture/cupti/cupti.c src/capture/cupti/cupti_search.c src/capture/cupti/selection.c src/capture/activity/unified_memory.c src/capture/callbacks/callbacks.c src/capture/callbacks/callback_time.c src/capture/callbacks/launch_names.c src/capture/activity/kernel_texts.c
             src/capture/context/context.c src/capture/context/steps.c src/capture/context/collective_steps.c src/capture/context/range.c src/capture/sleep/active_contexts.c src/capture/sleep/mode.c src/capture/sleep_control.c src/capture/sleep/sleep_lock.c src/capture/context/sdk_context.c src/capture/context/publish.c src/capture/context/lasting_states.c src/capture/callbacks/graph_nodes.c
             src/abi/params_table.c src/capture/threads/threads.c src/capture/coexist/other_tools.c src/capture/coexist/buffer_stall.c src/capture/activity/buffers.c src/capture/activity/decode.c
             src/abi/layouts.c src/abi/layouts_table.c src/capture/hardware/nvml.c src/capture/hardware/profiler.c src/capture/hardware/profiler_host.c src/capture/hardware/pm_sampler.c src/capture/hardware/pm_sampling.c src/capture/hardware/chips.c src/capture/hardware/gpu_counters.c
             src/capture/nvtx/nvtx.c src/capture/nvtx/nvtx_names.c src/capture/nvtx/nvtx_payload.c src/capture/nccl/nccl_calls.c src/capture/nccl/collective_period.c
             src/capture/stacks/python_find.c src/capture/stacks/python_frames.c src/capture/stacks/python_layouts.c src/capture/stacks/launch_stacks.c src/capture/stacks/code_paths.c src/capture/stacks/native_frames.c src/capture/threads/native_stack.c src/capture/stacks/eh_frame.c src/capture/stacks/native_rules.c)
target_link_libraries(cuspan_capture PUBLIC cuspan_model ${CMAKE_DL_LIBS})

# The symbol that readers in other processes look for, loaded on request. On x86-64 compilers can choose a TLS dialect, and
# readers are promised this one; arm64 has no other.
include(CheckCCompilerFlag)
check_c_compiler_flag(-mtls-dialect=gnu2 CUSPAN_HAS_TLS_DIALECT)
add_library(cuspan_thread_ctx MODULE src/capture/context/thread_ctx_symbol.c)
set_target_properties(cuspan_thread_ctx PROPERTIES PREFIX lib OUTPUT_NAME cuspan-thread-ctx
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/capture/context/thread_ctx.map)
if(CUSPAN_HAS_TLS_DIALECT)
  target_compile_options(cuspan_thread_ctx PRIVATE -mtls-dialect=gnu2)
endif()
target_link_options(cuspan_thread_ctx PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/capture/context/thread_ctx.map
                    -Wl,-z,now -Wl,-z,relro)
# Runs on our threads only; the agent's image has little room.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  set_source_files_properties(src/capture/stacks/eh_frame.c src/capture/stacks/native_rules.c src/capture/threads/native_stack.c
                              PROPERTIES COMPILE_OPTIONS -Os)
  file(GLOB capture_rare CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/capture/cupti/*.c ${CMAKE_SOURCE_DIR}/src/capture/coexist/*.c
       ${CMAKE_SOURCE_DIR}/src/capture/hardware/*.c ${CMAKE_SOURCE_DIR}/src/capture/switches.c)
  list(FILTER capture_rare EXCLUDE REGEX "gpu_counters.c$") # a part runs in callbacks
  set_property(SOURCE ${capture_rare} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
