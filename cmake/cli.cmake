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
  set(cli_sqlite src/analysis/sqlite/sqlite.c src/analysis/sqlite/sqlite_tables.c)
else()
  message(STATUS "cuspan: no SQLite, so no `cuspan stat --sqlite`: apt-get install libsqlite3-dev")
  set(cli_sqlite src/analysis/sqlite/sqlite_none.c)
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
             src/agent/operate/run/injection.c src/agent/operate/run/command_root.c src/agent/operate/run/launch.c src/command/traced_program.c src/agent/operate/run/outcome.c src/agent/operate/run/outcome_print.c
             src/analysis/trace/trace.c src/analysis/trace/trace_strings.c src/analysis/trace/trace_source.c src/analysis/trace/trace_files.c
             src/analysis/trace/byte_source.c src/analysis/trace/file_kind.c src/analysis/trace/send_input.c src/analysis/trace/json_clean.c src/analysis/trace/otlp_value.c src/analysis/trace/trace_facts.c src/analysis/trace/documents.c src/analysis/trace/parse_ahead.c src/analysis/trace/otlp_json.c src/analysis/trace/otlp_protobuf.c
             src/analysis/trace/span_store.c src/analysis/trace/span_sort.c src/analysis/trace/trace_segments.c src/analysis/trace/trace_read.c
             src/analysis/code/stack_lines.c src/analysis/code/range_lines.c src/analysis/code/forward_lines.c
             src/analysis/code/code_book.c src/analysis/code/code_ranges.c src/analysis/code/code_compiled.c src/analysis/code/inductor.c src/analysis/code/fatbin.c src/analysis/code/cubin_lines.c src/analysis/code/kernel_lines.c src/analysis/code/source_lines.c
             src/analysis/flame/flame.c src/analysis/flame/flame_tree.c src/analysis/flame/flame_svg.c src/analysis/flame/flame_files.c src/analysis/flame/flame_pprof.c src/command/cmd_flame.c
             src/analysis/show/scale.c src/analysis/show/outline.c src/analysis/show/bars.c src/analysis/show/label.c src/analysis/show/picture.c src/analysis/show/step_ranks.c src/analysis/show/rank_rows.c src/analysis/show/host_clocks.c src/analysis/show/gpu_work.c
             src/analysis/show/span_lines.c src/analysis/show/perfetto.c
             src/command/cmd_run.c src/command/cmd_fleet.c src/command/cmd_record.c src/command/cmd_replay.c src/command/cmd_send.c src/command/cmd_show.c
             src/analysis/stat/base/stat_table.c src/analysis/stat/base/samples.c src/analysis/stat/base/intervals.c src/analysis/stat/base/stat.c src/analysis/stat/sections.c src/analysis/stat/tables/headline.c
             src/analysis/stat/tables/call_tables.c src/analysis/stat/tables/kernel_table.c src/analysis/stat/tables/code_table.c src/analysis/stat/tables/counter_table.c src/analysis/stat/tables/copy_tables.c src/analysis/stat/tables/peak.c src/analysis/stat/tables/device_table.c
             src/analysis/stat/tables/latency_tables.c src/analysis/stat/base/places.c src/analysis/stat/memory/ledger.c src/analysis/stat/memory/memory_tables.c
             src/analysis/stat/memory/memory_faults.c src/analysis/stat/memory/memory_code.c src/analysis/stat/tables/overhead_table.c src/analysis/stat/tables/rank_tables.c src/analysis/stat/tables/rank_job.c src/analysis/stat/clock_offsets.c src/analysis/stat/findings/repeats.c
             src/analysis/stat/findings/findings.c src/analysis/stat/findings/finding.c src/analysis/stat/findings/tally.c src/analysis/stat/findings/survey.c src/analysis/stat/findings/find_launches.c src/analysis/stat/findings/find_graphs.c src/analysis/stat/findings/find_kernels.c
             src/analysis/stat/findings/find_copies.c src/analysis/stat/findings/find_waits.c src/analysis/stat/findings/find_memory.c
             src/analysis/stat/groups.c src/analysis/stat/by.c src/analysis/stat/stat_stream.c src/analysis/stat/stat_print.c src/command/cmd_stat.c ${cli_sqlite}
             src/analysis/export/parquet_encode.c src/analysis/export/thrift.c src/analysis/export/parquet.c src/analysis/export/dictionary.c src/analysis/export/fleet_columns_table.c
             src/analysis/export/fleet_group.c src/analysis/export/fleet_encode.c src/analysis/export/fleet_path.c src/analysis/export/fleet_writer.c src/analysis/export/fleet_recordings.c
             src/command/cmd_export.c
             src/analysis/diff/compare.c src/analysis/diff/runs.c src/analysis/diff/run_files.c src/analysis/diff/baseline.c
             src/analysis/ranks/ranks.c src/analysis/ranks/ranks_series.c src/analysis/ranks/ranks_instances.c src/analysis/ranks/ranks_clocks.c src/analysis/ranks/ranks_stragglers.c src/analysis/ranks/ranks_links.c src/analysis/ranks/ranks_stages.c src/analysis/ranks/ranks_jobs.c src/analysis/ranks/ranks_hosts.c src/analysis/ranks/ranks_standing.c src/analysis/ranks/ranks_compared.c src/analysis/ranks/ranks_findings.c
             src/analysis/diff/diff_limits.c src/analysis/diff/diff.c src/analysis/diff/diff_code.c src/command/cmd_diff.c
             src/command/overhead/estimate.c src/command/overhead/overhead_measure.c src/command/overhead/overhead_print.c src/command/cmd_overhead.c src/command/cmd_counters.c
             src/command/top/top_sample.c src/command/top/top_ranks.c src/command/top/top_screen.c src/command/top/top_poll.c src/command/top/top_watch.c src/command/cmd_top.c
             src/agent/operate/agents/agents.c src/agent/operate/agents/agents_choice.c src/command/cmd_ps.c src/command/cmd_status.c src/command/cmd_start.c
             src/command/cmd_stop.c src/command/cmd_flush.c src/command/cmd_check.c
             src/agent/operate/doctor/doctor.c src/agent/operate/doctor/checks.c src/agent/operate/doctor/probe_child.c src/agent/operate/doctor/doctor_facts.c
             src/agent/operate/doctor/agent_library.c src/agent/operate/doctor/elf.c src/agent/operate/doctor/reach.c
             src/agent/operate/doctor/driver_facts.c src/agent/operate/doctor/checks/check_driver.c src/agent/operate/doctor/checks/check_cupti.c src/agent/operate/doctor/checks/check_injection.c src/agent/operate/doctor/checks/check_python.c src/agent/operate/doctor/other_copies.c
             src/agent/operate/doctor/checks/check_configuration.c src/agent/operate/doctor/collector.c src/agent/operate/doctor/checks/check_collector.c
             src/agent/operate/doctor/checks/check_permissions.c src/agent/operate/doctor/checks/check_slow.c src/agent/operate/doctor/checks/check_agents.c src/agent/operate/doctor/checks/check_program.c
             src/agent/operate/cdi/cdi_file.c src/agent/operate/cdi/cdi_scan.c src/agent/operate/cdi/cdi_agent.c src/agent/operate/cdi/cdi_check.c src/command/cmd_cdi.c
             src/command/cmd_doctor.c src/command/cmd_version.c src/command/cmd_help.c)
# Commands that wait for people, programs and networks are compiled for size: the agent's image has little room.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
  file(GLOB_RECURSE cli_waiting CONFIGURE_DEPENDS src/cli/args/*.c src/agent/operate/cdi/*.c src/analysis/code/*.c src/command/*.c
       src/analysis/diff/*.c src/agent/operate/doctor/*.c src/analysis/export/fleet_[prw]*.c src/analysis/export/parquet.c src/analysis/export/thrift.c src/analysis/flame/*.c src/command/overhead/*.c src/agent/operate/run/*.c src/analysis/show/*.c src/analysis/sqlite/*.c
       src/analysis/ranks/*.c src/agent/operate/agents/*.c src/analysis/trace/trace_facts.c src/analysis/trace/file_kind.c src/analysis/trace/json_clean.c src/analysis/stat/findings/*.c src/command/top/*.c src/analysis/stat/memory/*.c src/analysis/stat/tables/*.c src/analysis/stat/stat_print.c
       src/analysis/stat/by.c src/analysis/stat/base/places.c src/analysis/stat/sections.c src/analysis/stat/clock_offsets.c src/analysis/stat/base/stat_table.c src/analysis/trace/trace.c src/analysis/trace/trace_source.c src/analysis/export/fleet_group.c)
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
file(STRINGS src/agent/abi/layouts_table.c CUSPAN_NEWEST_LINE REGEX "layout_newest_version = [0-9]+;")
string(REGEX MATCH "= ([0-9]+)" CUSPAN_NEWEST_MATCH "${CUSPAN_NEWEST_LINE}")
set_source_files_properties(src/command/cmd_version.c PROPERTIES COMPILE_DEFINITIONS
  "CUSPAN_CUPTI_NEWEST=${CMAKE_MATCH_1};CUSPAN_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\";CUSPAN_SANITIZERS=\"${CUSPAN_SANITIZE}\"")

# In the same folder as libcuspan.so, where that looks for it.
add_executable(cuspan src/command/main.c)
set_target_properties(cuspan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_link_libraries(cuspan PRIVATE cuspan_cli)

install(TARGETS cuspan RUNTIME DESTINATION bin)
