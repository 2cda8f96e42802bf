# The command line. Everything except main.c is a library, so tests can link it.
# cJSON: the static one of the export module if there is one, so the program can be copied to other machines.
if(CUSPAN_CURL_KIND STREQUAL "static")
  set(CJSON_INCLUDE_DIR ${curl_place}/include)
  set(CLI_CJSON ${curl_place}/lib/libcjson.a)
else()
  find_path(CJSON_INCLUDE_DIR cjson/cJSON.h REQUIRED)
  find_library(CJSON_LIBRARY cjson REQUIRED)
  set(CLI_CJSON ${CJSON_LIBRARY})
endif()

# The libraries with which the commands read spans: yyjson for JSON, zstd and zlib for compressed files. Static if available,
# so the program can be copied to other machines.
if(CUSPAN_LIBRARIES)
  set(json_place ${CUSPAN_LIBRARIES})
else()
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/fetch-sources.sh --where json OUTPUT_VARIABLE json_place
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_path(YYJSON_INCLUDE_DIR yyjson.h HINTS ${json_place}/include)
find_library(YYJSON_LIBRARY NAMES libyyjson.a yyjson HINTS ${json_place}/lib)
if(NOT YYJSON_INCLUDE_DIR OR NOT YYJSON_LIBRARY)
  message(FATAL_ERROR "cuspan: yyjson is missing: run tools/fetch-sources.sh json, or apt-get install libyyjson-dev")
endif()
find_path(CLI_ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(CLI_ZLIB_LIBRARY NAMES libz.a z REQUIRED)

# SQLite, only for `cuspan stat --sqlite`: static if available, so the program can be copied to other machines.
find_path(SQLITE_INCLUDE_DIR sqlite3.h)
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3)
if(SQLITE_INCLUDE_DIR AND SQLITE_LIBRARY)
  set(cli_sqlite src/cli/sqlite/sqlite.c src/cli/sqlite/sqlite_tables.c)
else()
  message(STATUS "cuspan: no SQLite, so no `cuspan stat --sqlite`: apt-get install libsqlite3-dev")
  set(cli_sqlite src/cli/sqlite/sqlite_none.c)
endif()
# ncurses for `cuspan top`, and its terminal library, which some distributions package separately. Static if available, for
# the same reason.
find_path(CURSES_INCLUDE_DIR curses.h REQUIRED)
find_library(CURSES_LIBRARY NAMES libncursesw.a ncursesw REQUIRED)
find_library(TINFO_LIBRARY NAMES libtinfow.a libtinfo.a tinfow tinfo)
set(CLI_CURSES ${CURSES_LIBRARY})
if(TINFO_LIBRARY)
  list(APPEND CLI_CURSES ${TINFO_LIBRARY})
endif()

cuspan_stage(cli src/cli/args/command_table.c src/cli/args/options.c src/cli/args/help.c src/cli/args/man.c src/cli/args/completion.c
             src/cli/args/completion_zsh.c src/cli/args/completion_fish.c
             src/cli/util/xalloc.c src/cli/util/temporary.c src/cli/util/int_map.c src/cli/util/paged.c src/cli/util/text.c src/cli/util/json_object.c src/cli/util/terminal.c src/cli/util/progress.c
             src/cli/run/injection.c src/cli/run/command_root.c src/cli/run/launch.c src/cli/run/traced_program.c src/cli/run/outcome.c src/cli/run/outcome_print.c
             src/cli/trace/trace.c src/cli/trace/trace_strings.c src/cli/trace/trace_source.c src/cli/trace/trace_files.c
             src/cli/trace/byte_source.c src/cli/trace/file_kind.c src/cli/trace/send_input.c src/cli/trace/json_clean.c src/cli/trace/otlp_value.c src/cli/trace/trace_facts.c src/cli/trace/documents.c src/cli/trace/parse_ahead.c src/cli/trace/otlp_json.c src/cli/trace/otlp_protobuf.c
             src/cli/trace/span_store.c src/cli/trace/span_sort.c src/cli/trace/trace_segments.c src/cli/trace/trace_read.c
             src/cli/code/stack_lines.c src/cli/code/range_lines.c src/cli/code/forward_lines.c
             src/cli/code/code_book.c src/cli/code/code_ranges.c src/cli/code/code_compiled.c src/cli/code/inductor.c src/cli/code/fatbin.c src/cli/code/cubin_lines.c src/cli/code/kernel_lines.c src/cli/code/source_lines.c
             src/cli/flame/flame.c src/cli/flame/flame_tree.c src/cli/flame/flame_svg.c src/cli/flame/flame_files.c src/cli/flame/flame_pprof.c src/cli/commands/cmd_flame.c
             src/cli/show/scale.c src/cli/show/outline.c src/cli/show/bars.c src/cli/show/label.c src/cli/show/picture.c src/cli/show/step_ranks.c src/cli/show/rank_rows.c src/cli/show/host_clocks.c src/cli/show/gpu_work.c
             src/cli/show/span_lines.c src/cli/show/perfetto.c
             src/cli/commands/cmd_run.c src/cli/commands/cmd_fleet.c src/cli/commands/cmd_record.c src/cli/commands/cmd_replay.c src/cli/commands/cmd_send.c src/cli/commands/cmd_show.c
             src/cli/stat/base/stat_table.c src/cli/stat/base/samples.c src/cli/stat/base/intervals.c src/cli/stat/base/stat.c src/cli/stat/sections.c src/cli/stat/tables/headline.c
             src/cli/stat/tables/call_tables.c src/cli/stat/tables/kernel_table.c src/cli/stat/tables/code_table.c src/cli/stat/tables/counter_table.c src/cli/stat/tables/copy_tables.c src/cli/stat/tables/peak.c src/cli/stat/tables/device_table.c
             src/cli/stat/tables/latency_tables.c src/cli/stat/base/places.c src/cli/stat/memory/ledger.c src/cli/stat/memory/memory_tables.c
             src/cli/stat/memory/memory_faults.c src/cli/stat/memory/memory_code.c src/cli/stat/tables/overhead_table.c src/cli/stat/tables/rank_tables.c src/cli/stat/tables/rank_job.c src/cli/stat/clock_offsets.c src/cli/stat/findings/repeats.c
             src/cli/stat/findings/findings.c src/cli/stat/findings/finding.c src/cli/stat/findings/tally.c src/cli/stat/findings/survey.c src/cli/stat/findings/find_launches.c src/cli/stat/findings/find_graphs.c src/cli/stat/findings/find_kernels.c
             src/cli/stat/findings/find_copies.c src/cli/stat/findings/find_waits.c src/cli/stat/findings/find_memory.c
             src/cli/stat/groups.c src/cli/stat/by.c src/cli/stat/stat_stream.c src/cli/stat/stat_print.c src/cli/commands/cmd_stat.c ${cli_sqlite}
             src/cli/export/parquet_encode.c src/cli/export/thrift.c src/cli/export/parquet.c src/cli/export/dictionary.c src/cli/export/fleet_columns_table.c
             src/cli/export/fleet_group.c src/cli/export/fleet_encode.c src/cli/export/fleet_path.c src/cli/export/fleet_writer.c src/cli/export/fleet_recordings.c
             src/cli/commands/cmd_export.c
             src/cli/diff/compare.c src/cli/diff/runs.c src/cli/diff/run_files.c src/cli/diff/baseline.c
             src/cli/ranks/ranks.c src/cli/ranks/ranks_series.c src/cli/ranks/ranks_instances.c src/cli/ranks/ranks_clocks.c src/cli/ranks/ranks_stragglers.c src/cli/ranks/ranks_links.c src/cli/ranks/ranks_stages.c src/cli/ranks/ranks_jobs.c src/cli/ranks/ranks_hosts.c src/cli/ranks/ranks_standing.c src/cli/ranks/ranks_compared.c src/cli/ranks/ranks_findings.c
             src/cli/diff/diff_limits.c src/cli/diff/diff.c src/cli/diff/diff_code.c src/cli/commands/cmd_diff.c
             src/cli/overhead/estimate.c src/cli/overhead/overhead_measure.c src/cli/overhead/overhead_print.c src/cli/commands/cmd_overhead.c src/cli/commands/cmd_counters.c
             src/cli/top/top_sample.c src/cli/top/top_ranks.c src/cli/top/top_screen.c src/cli/top/top_poll.c src/cli/top/top_watch.c src/cli/commands/cmd_top.c
             src/cli/agents/agents.c src/cli/agents/agents_choice.c src/cli/commands/cmd_ps.c src/cli/commands/cmd_status.c src/cli/commands/cmd_start.c
             src/cli/commands/cmd_stop.c src/cli/commands/cmd_flush.c src/cli/commands/cmd_check.c
             src/cli/doctor/doctor.c src/cli/doctor/checks.c src/cli/doctor/probe_child.c src/cli/doctor/doctor_facts.c
             src/cli/doctor/agent_library.c src/cli/doctor/elf.c src/cli/doctor/reach.c
             src/cli/doctor/driver_facts.c src/cli/doctor/checks/check_driver.c src/cli/doctor/checks/check_cupti.c src/cli/doctor/checks/check_injection.c src/cli/doctor/checks/check_python.c src/cli/doctor/other_copies.c
             src/cli/doctor/checks/check_configuration.c src/cli/doctor/collector.c src/cli/doctor/checks/check_collector.c
             src/cli/doctor/checks/check_permissions.c src/cli/doctor/checks/check_slow.c src/cli/doctor/checks/check_agents.c src/cli/doctor/checks/check_program.c
             src/cli/cdi/cdi_file.c src/cli/cdi/cdi_scan.c src/cli/cdi/cdi_agent.c src/cli/cdi/cdi_check.c src/cli/commands/cmd_cdi.c
             src/cli/commands/cmd_doctor.c src/cli/commands/cmd_version.c src/cli/commands/cmd_help.c)
# Commands that wait for people, programs and networks are compiled for size: the agent's image has little room.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  file(GLOB_RECURSE cli_waiting CONFIGURE_DEPENDS src/cli/args/*.c src/cli/cdi/*.c src/cli/code/*.c src/cli/commands/*.c
       src/cli/diff/*.c src/cli/doctor/*.c src/cli/export/fleet_[prw]*.c src/cli/export/parquet.c src/cli/export/thrift.c src/cli/flame/*.c src/cli/overhead/*.c src/cli/run/*.c src/cli/show/*.c src/cli/sqlite/*.c
       src/cli/ranks/*.c src/cli/agents/*.c src/cli/trace/trace_facts.c src/cli/trace/file_kind.c src/cli/trace/json_clean.c src/cli/stat/findings/*.c src/cli/top/*.c src/cli/stat/memory/*.c src/cli/stat/tables/*.c src/cli/stat/stat_print.c
       src/cli/stat/by.c src/cli/stat/base/places.c src/cli/stat/sections.c src/cli/stat/clock_offsets.c src/cli/stat/base/stat_table.c src/cli/trace/trace.c src/cli/trace/trace_source.c src/cli/export/fleet_group.c)
  set_property(SOURCE ${cli_waiting} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
target_include_directories(cuspan_cli PRIVATE ${CJSON_INCLUDE_DIR} ${CURSES_INCLUDE_DIR})
# No exception passes through the commands, and a debugger has .debug_frame.
target_compile_options(cuspan_cli PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
target_include_directories(cuspan_cli SYSTEM PRIVATE ${YYJSON_INCLUDE_DIR} ${ZSTD_INCLUDE_DIR} ${CLI_ZLIB_INCLUDE_DIR})
if(SQLITE_INCLUDE_DIR AND SQLITE_LIBRARY)
  target_include_directories(cuspan_cli SYSTEM PRIVATE ${SQLITE_INCLUDE_DIR})
  target_link_libraries(cuspan_cli PUBLIC ${SQLITE_LIBRARY})
endif()
target_link_libraries(cuspan_cli PUBLIC cuspan_config $<TARGET_NAME_IF_EXISTS:cuspan_recording> cuspan_model cuspan_base ${CLI_CJSON} ${YYJSON_LIBRARY} ${ZSTD_LIBRARY} ${CLI_ZLIB_LIBRARY} ${CLI_CURSES} m Threads::Threads ${CMAKE_DL_LIBS})

# `cuspan version` prints which CUPTI versions the generated tables cover; the tables themselves are in the agent.
file(STRINGS src/abi/layouts_table.c CUSPAN_NEWEST_LINE REGEX "layout_newest_version = [0-9]+;")
string(REGEX MATCH "= ([0-9]+)" CUSPAN_NEWEST_MATCH "${CUSPAN_NEWEST_LINE}")
set_source_files_properties(src/cli/commands/cmd_version.c PROPERTIES COMPILE_DEFINITIONS
  "CUSPAN_CUPTI_NEWEST=${CMAKE_MATCH_1};CUSPAN_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\";CUSPAN_SANITIZERS=\"${CUSPAN_SANITIZE}\"")

# In the same folder as libcuspan.so, where that looks for it.
add_executable(cuspan src/cli/main.c)
set_target_properties(cuspan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan PRIVATE cuspan_cli)

install(TARGETS cuspan RUNTIME DESTINATION bin)
