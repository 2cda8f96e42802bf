# The only stage that uses CUPTI. The plugin is in the agent itself, because it exports symbols.
cuspan_library(capture agent/abi agent/capture WITHOUT "/(thread_ctx_symbol|nccl_plugin)\\.c$")
target_link_libraries(cuspan_capture PUBLIC cuspan_frames cuspan_model ${CMAKE_DL_LIBS})

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
