# Recordings are not a stage of their own: the agent and the CLI write and read them, and the replay library plays them.
cuspan_library(recording agent/recording)
find_library(CUSPAN_ZLIB_STATIC libz.a)
if(NOT CUSPAN_ZLIB_STATIC)
  find_package(ZLIB REQUIRED)
  set(CUSPAN_ZLIB_STATIC ZLIB::ZLIB)
endif()
find_path(CUSPAN_ZLIB_INCLUDE zlib.h REQUIRED)
target_include_directories(cuspan_recording SYSTEM PRIVATE ${CUSPAN_ZLIB_INCLUDE})
target_link_libraries(cuspan_recording PUBLIC cuspan_model ${CUSPAN_ZLIB_STATIC})

# The CUPTI that replays recordings, built twice from the same sources: 12.x has no subscriber-aware calls.
cuspan_sources(replay_sources agent/replay agent/abi)
foreach(double cuspan-replay cuspan-replay-classic)
  add_library(${double} SHARED ${replay_sources})
  target_link_libraries(${double} PRIVATE cuspan_recording Threads::Threads)
  # Within callbacks, the C library's loader must have nothing to do for this library: it would wait while another thread
  # loads one, and tests would take that for a system call of the agent. Hence the TLS model and early binding.
  target_compile_options(${double} PRIVATE -ftls-model=initial-exec)
  # Like CUPTI, it always calls its own functions, even if another library is preloaded.
  target_link_options(${double} PRIVATE ${CUSPAN_HIDE_LIBS} -Wl,-Bsymbolic -Wl,-z,now)
endforeach()
target_compile_definitions(cuspan-replay-classic PRIVATE REPLAY_CLASSIC)
install(TARGETS cuspan-replay cuspan-replay-classic LIBRARY DESTINATION lib/cuspan)
