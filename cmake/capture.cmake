# The only stage that uses CUPTI. tools/gen_cupti_tables.py generates params_table.c and layouts_table.c.
cuspan_stage(capture src/agent/capture/capture.c src/agent/capture/switches.c src/agent/capture/cupti/cupti.c src/agent/capture/cupti/cupti_search.c src/agent/capture/cupti/selection.c src/agent/capture/activity/unified_memory.c src/agent/capture/callbacks/callbacks.c src/agent/capture/callbacks/callback_time.c src/agent/capture/callbacks/launch_names.c src/agent/capture/activity/kernel_texts.c
             src/agent/capture/context/context.c src/agent/capture/context/steps.c src/agent/capture/context/collective_steps.c src/agent/capture/context/range.c src/agent/capture/sleep/active_contexts.c src/agent/capture/sleep/mode.c src/agent/capture/sleep_control.c src/agent/capture/sleep/sleep_lock.c src/agent/capture/context/sdk_context.c src/agent/capture/context/publish.c src/agent/capture/context/lasting_states.c src/agent/capture/callbacks/graph_nodes.c
             src/agent/abi/params_table.c src/agent/capture/threads/threads.c src/agent/capture/coexist/other_tools.c src/agent/capture/coexist/buffer_stall.c src/agent/capture/activity/buffers.c src/agent/capture/activity/decode.c
             src/agent/abi/layouts.c src/agent/abi/layouts_table.c src/agent/capture/hardware/nvml.c src/agent/capture/hardware/profiler.c src/agent/capture/hardware/profiler_host.c src/agent/capture/hardware/pm_sampler.c src/agent/capture/hardware/pm_sampling.c src/agent/capture/hardware/chips.c src/agent/capture/hardware/gpu_counters.c
             src/agent/capture/nvtx/nvtx.c src/agent/capture/nvtx/nvtx_names.c src/agent/capture/nvtx/nvtx_payload.c src/agent/capture/nccl/nccl_calls.c src/agent/capture/nccl/collective_period.c
             src/agent/capture/stacks/python_find.c src/agent/capture/stacks/python_frames.c src/agent/capture/stacks/python_layouts.c src/agent/capture/stacks/launch_stacks.c src/agent/capture/stacks/code_paths.c src/agent/capture/stacks/native_frames.c src/agent/capture/threads/native_stack.c src/agent/capture/stacks/eh_frame.c src/agent/capture/stacks/native_rules.c)
target_link_libraries(cuspan_capture PUBLIC cuspan_model ${CMAKE_DL_LIBS})

# The symbol that readers in other processes look for, loaded on request. On x86-64 compilers can choose a TLS dialect, and
# readers are promised this one; arm64 has no other.
include(CheckCCompilerFlag)
check_c_compiler_flag(-mtls-dialect=gnu2 CUSPAN_HAS_TLS_DIALECT)
add_library(cuspan_thread_ctx MODULE src/agent/capture/context/thread_ctx_symbol.c)
set_target_properties(cuspan_thread_ctx PROPERTIES PREFIX lib OUTPUT_NAME cuspan-thread-ctx
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/capture/context/thread_ctx.map)
if(CUSPAN_HAS_TLS_DIALECT)
  target_compile_options(cuspan_thread_ctx PRIVATE -mtls-dialect=gnu2)
endif()
target_link_options(cuspan_thread_ctx PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/capture/context/thread_ctx.map
                    -Wl,-z,now -Wl,-z,relro)
# Runs on our threads only; the agent's image has little room.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  set_source_files_properties(src/agent/capture/stacks/eh_frame.c src/agent/capture/stacks/native_rules.c src/agent/capture/threads/native_stack.c
                              PROPERTIES COMPILE_OPTIONS -Os)
  file(GLOB capture_rare CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/capture/cupti/*.c ${CMAKE_SOURCE_DIR}/src/agent/capture/coexist/*.c
       ${CMAKE_SOURCE_DIR}/src/agent/capture/hardware/*.c ${CMAKE_SOURCE_DIR}/src/agent/capture/switches.c)
  list(FILTER capture_rare EXCLUDE REGEX "gpu_counters.c$") # a part runs in callbacks
  set_property(SOURCE ${capture_rare} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
