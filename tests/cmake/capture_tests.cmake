foreach(module capture threads context steps collective_steps collective_period kernel_texts buffers callbacks callback_time decode selection switches cupti nvtx_names pm_sampling python_frames python_find code_paths launch_stacks)
  cuspan_unit_test(${module} cuspan_capture)
endforeach()
# The walks are fakes.
target_link_options(launch_stacks_test PRIVATE -Wl,--wrap=python_find -Wl,--wrap=python_frames_walk -Wl,--wrap=python_frame_describe
                    -Wl,--wrap=native_frames_walk)
# Without context.c, which it replaces by a fake.
cuspan_unit_test(nvtx cuspan_base)
target_sources(nvtx_test PRIVATE src/agent/capture/nvtx/nvtx.c src/agent/capture/nvtx/nvtx_names.c src/agent/capture/nvtx/nvtx_payload.c src/agent/capture/nccl/nccl_calls.c src/model/collective.c src/model/hang/live_state.c src/model/hang/live_reader.c)

cuspan_unit_test(nccl_calls cuspan_base)
target_sources(nccl_calls_test PRIVATE src/agent/capture/nccl/nccl_calls.c src/model/collective.c src/model/hang/live_state.c)

cuspan_unit_test(nvtx_payload cuspan_base)
target_sources(nvtx_payload_test PRIVATE src/agent/capture/nvtx/nvtx_payload.c src/agent/capture/nvtx/nvtx_names.c src/agent/capture/nccl/nccl_calls.c src/model/collective.c src/model/hang/live_state.c)

# Without CUPTI's switches and the callbacks.
cuspan_unit_test(sleep_control cuspan_base)
target_sources(sleep_control_test PRIVATE src/agent/capture/sleep_control.c src/agent/capture/sleep/active_contexts.c src/agent/capture/sleep/mode.c)

# Empty CUPTIs for the test of how one is found: NAME, version, calls (0 none, 1 classic, 2 all).
function(cuspan_fake_cupti name version calls)
  add_library(fake_cupti_${name} MODULE tests/unit/support/fake_cupti.c)
  target_compile_definitions(fake_cupti_${name} PRIVATE FAKE_VERSION=${version}u FAKE_CALLS=${calls})
  add_dependencies(cupti_test fake_cupti_${name})
endfunction()
cuspan_fake_cupti(failing 0 1)
cuspan_fake_cupti(old 17 1)
cuspan_fake_cupti(bare 130000 0)
cuspan_fake_cupti(classic 28 1)
cuspan_fake_cupti(early 130200 2)
cuspan_fake_cupti(subscriber 130500 2)
cuspan_fake_cupti(nvidia 130200 3)
target_compile_definitions(cupti_test PRIVATE FAKE_CUPTI_FOLDER="${CMAKE_BINARY_DIR}")

# Both kinds of thread-local variables in a library: compilers for x86-64 have two dialects, others only the new one.
function(cuspan_sdk_context_test name)
  add_library(fake_sdk_${name} MODULE tests/unit/support/fake_sdk.c)
  target_compile_options(fake_sdk_${name} PRIVATE ${ARGN})
  add_executable(sdk_context_${name}_test tests/unit/agent/capture/sdk_context_test.c)
  target_link_libraries(sdk_context_${name}_test PRIVATE cuspan_capture cuspan_cmocka)
  target_compile_definitions(sdk_context_${name}_test PRIVATE FAKE_SDK="$<TARGET_FILE:fake_sdk_${name}>")
  add_dependencies(sdk_context_${name}_test fake_sdk_${name})
  add_test(NAME unit/sdk_context_${name} COMMAND sdk_context_${name}_test)
endfunction()
cuspan_sdk_context_test(default)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  cuspan_sdk_context_test(descriptors -mtls-dialect=gnu2)
endif()

# A separate reader process reads it.
cuspan_unit_test(publish cuspan_capture)
target_sources(publish_test PRIVATE tests/unit/support/thread_ctx_reader.c)
target_compile_definitions(publish_test PRIVATE FOLDER="$<TARGET_FILE_DIR:cuspan_thread_ctx>"
                           FAKE_SDK="$<TARGET_FILE:fake_sdk_default>")
add_dependencies(publish_test cuspan_thread_ctx fake_sdk_default)

# Without context.c, which it replaces by a fake.
cuspan_unit_test(nccl_plugin cuspan_base)
target_sources(nccl_plugin_test PRIVATE src/agent/capture/plugin/nccl_plugin.c src/agent/capture/nccl/nccl_calls.c src/model/collective.c src/model/hang/live_state.c)

foreach(kind FULL BARE)
  string(TOLOWER ${kind} name)
  add_library(fake_python_${name} MODULE tests/unit/support/fake_python.c)
  target_compile_definitions(fake_python_${name} PRIVATE FAKE_PYTHON_${kind})
  add_dependencies(python_find_test fake_python_${name})
endforeach()
target_compile_definitions(python_find_test PRIVATE FAKE_PYTHON="$<TARGET_FILE:fake_python_full>"
                           FAKE_PYTHON_BARE_FILE="$<TARGET_FILE:fake_python_bare>")
add_test(NAME unit/python_find_bare COMMAND python_find_test bare)

# The walk of Python frames, in real Pythons through ctypes. They cannot load a library with sanitizers.
add_library(python_walker SHARED tests/support/python_walker.c)
target_link_libraries(python_walker PRIVATE cuspan_capture)
set_target_properties(python_walker PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CUSPAN_SANITIZE)
  add_executable(python_host tests/integration/hosts/python_host.c)
  target_link_libraries(python_host PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME integration/python_frames
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/python_frames_test.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME integration/python_frames_all
           COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/agent/python_frames_test.py --build ${CMAKE_BINARY_DIR} --all)
endif()

# Functions that make stacks, with several options, and libraries that pose as tools by their names.
cuspan_unit_test(eh_frame cuspan_capture)
cuspan_unit_test(native_stack cuspan_capture)
cuspan_unit_test(native_frames cuspan_capture)
target_compile_definitions(native_frames_test PRIVATE STACK_MAKERS="${CMAKE_BINARY_DIR}")
if(CUSPAN_SANITIZE)
  target_compile_definitions(native_frames_test PRIVATE WITHOUT_LIBUNWIND)
endif()
function(cuspan_stack_maker name source)
  add_library(stack_maker_${name} MODULE ${source})
  target_include_directories(stack_maker_${name} PRIVATE tests/unit)
  target_compile_options(stack_maker_${name} PRIVATE ${ARGN})
  if(CUSPAN_SANITIZE MATCHES thread) # it permits few functions in signal handlers, and delivers signals later
    target_compile_definitions(stack_maker_${name} PRIVATE WITHOUT_SIGNALS)
  endif()
  add_dependencies(native_frames_test stack_maker_${name})
endfunction()
cuspan_stack_maker(O0 tests/unit/support/stack_maker.c -O0)
cuspan_stack_maker(O2 tests/unit/support/stack_maker.c -O2)
cuspan_stack_maker(omit tests/unit/support/stack_maker.c -O2 -fomit-frame-pointer -fno-inline)
cuspan_stack_maker(keep tests/unit/support/stack_maker.c -O1 -fno-omit-frame-pointer)
cuspan_stack_maker(Os tests/unit/support/stack_maker.c -Os -fomit-frame-pointer)
cuspan_stack_maker(exceptions tests/unit/support/stack_maker_exceptions.cc -O2)
foreach(number RANGE 1 8) # each has a rule that no other one has
  cuspan_stack_maker(late${number} tests/unit/support/stack_maker.c -O2 -fno-inline -fomit-frame-pointer -DLARGE_BYTES=6${number}00)
endforeach()
cuspan_stack_maker(again0 tests/unit/support/stack_maker.c -O2 -fno-inline)
cuspan_stack_maker(again1 tests/unit/support/stack_maker.c -O1 -fomit-frame-pointer)
cuspan_stack_maker(again2 tests/unit/support/stack_maker.c -O0)
foreach(tool cupti cuspan)
  add_library(${tool}_stack_tool MODULE tests/unit/support/stack_tool.c)
  target_include_directories(${tool}_stack_tool PRIVATE tests/unit)
  add_dependencies(native_frames_test ${tool}_stack_tool)
endforeach()
