# The command line. Everything except main.c is a library, so tests can link it.
# ncurses for `cuspan top`, and its terminal library, which some distributions package separately. Static if available, for
# the same reason.
find_path(CURSES_INCLUDE_DIR curses.h REQUIRED)
find_library(CURSES_LIBRARY NAMES libncursesw.a ncursesw REQUIRED)
find_library(TINFO_LIBRARY NAMES libtinfow.a libtinfo.a tinfow tinfo)
set(CLI_CURSES ${CURSES_LIBRARY})
if(TINFO_LIBRARY)
  list(APPEND CLI_CURSES ${TINFO_LIBRARY})
endif()

cuspan_library(command command WITHOUT "/main\\.c$")
target_include_directories(cuspan_command PRIVATE ${CURSES_INCLUDE_DIR})
target_link_libraries(cuspan_command PUBLIC cuspan_operate cuspan_analysis cuspan_recording ${CLI_CURSES})

# `cuspan version` prints which CUPTI versions the generated tables cover; the tables themselves are in the agent.
file(STRINGS src/agent/abi/layouts_table.c CUSPAN_NEWEST_LINE REGEX "layout_newest_version = [0-9]+;")
string(REGEX MATCH "= ([0-9]+)" CUSPAN_NEWEST_MATCH "${CUSPAN_NEWEST_LINE}")
set_source_files_properties(src/command/cmd_version.c PROPERTIES COMPILE_DEFINITIONS
  "CUSPAN_CUPTI_NEWEST=${CMAKE_MATCH_1};CUSPAN_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\";CUSPAN_SANITIZERS=\"${CUSPAN_SANITIZE}\"")

# In the same folder as libcuspan.so, where that looks for it.
add_executable(cuspan src/command/main.c)
set_target_properties(cuspan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan PRIVATE cuspan_command)

install(TARGETS cuspan RUNTIME DESTINATION bin)
