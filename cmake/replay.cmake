# Recordings are not a stage of their own: the agent and the CLI write and read them, and the replay library plays them.
cuspan_stage(recording src/agent/recording/recording_format.c src/agent/recording/recording_strings.c
             src/agent/recording/recording_writer.c src/agent/recording/recording_reader.c)
find_library(CUSPAN_ZLIB_STATIC libz.a)
if(NOT CUSPAN_ZLIB_STATIC)
  find_package(ZLIB REQUIRED)
  set(CUSPAN_ZLIB_STATIC ZLIB::ZLIB)
endif()
find_path(CUSPAN_ZLIB_INCLUDE zlib.h REQUIRED)
target_include_directories(cuspan_recording SYSTEM PRIVATE ${CUSPAN_ZLIB_INCLUDE})
target_link_libraries(cuspan_recording PUBLIC cuspan_model ${CUSPAN_ZLIB_STATIC})

# The CUPTI that replays recordings, built twice from the same sources: 12.x has no subscriber-aware calls.
set(CUSPAN_REPLAY_SOURCES
    src/agent/replay/state/replay_state.c src/agent/replay/state/faults.c src/agent/replay/state/timeline.c src/agent/replay/player.c src/agent/replay/play/replay_params.c
    src/agent/replay/play/replay_callbacks.c src/agent/replay/play/replay_objects.c src/agent/replay/play/compose.c src/agent/replay/play/replay_graphs.c src/agent/replay/play/replay_modules.c src/agent/replay/play/replay_records.c src/agent/replay/play/replay_api.c
    src/agent/replay/state/host_watch.c src/agent/replay/counters/replay_profiler.c src/agent/replay/counters/replay_pm_sampling.c src/agent/replay/play/annotations.c src/agent/replay/play/replay_names.c
    src/agent/abi/params_table.c src/agent/abi/layouts.c src/agent/abi/layouts_table.c)
foreach(double cuspan-replay cuspan-replay-classic)
  add_library(${double} SHARED ${CUSPAN_REPLAY_SOURCES})
  target_link_libraries(${double} PRIVATE cuspan_recording Threads::Threads)
  # Within callbacks, the C library's loader must have nothing to do for this library: it would wait while another thread
  # loads one, and tests would take that for a system call of the agent. Hence the TLS model and early binding.
  target_compile_options(${double} PRIVATE -ftls-model=initial-exec)
  # Like CUPTI, it always calls its own functions, even if another library is preloaded.
  target_link_options(${double} PRIVATE ${CUSPAN_HIDE_LIBS} -Wl,-Bsymbolic -Wl,-z,now)
endforeach()
target_compile_definitions(cuspan-replay-classic PRIVATE REPLAY_CLASSIC)
if(CMAKE_BUILD_TYPE MATCHES "^Rel") # the agent's image has little room
  target_compile_options(cuspan-replay PRIVATE -Os)
  target_compile_options(cuspan-replay-classic PRIVATE -Os)
endif()
install(TARGETS cuspan-replay cuspan-replay-classic LIBRARY DESTINATION lib/cuspan)
