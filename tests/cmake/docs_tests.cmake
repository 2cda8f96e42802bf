# Pages that are generated from the code: the committed ones must be up to date. And other scripts.
add_test(NAME integration/attributes_page COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_attributes.py --check)
add_test(NAME integration/architecture_page COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_architecture.py --check)
add_test(NAME integration/fleet_schema COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_fleet_schema.py --check)
add_test(NAME integration/clickhouse_schema COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_clickhouse.py --check)
add_test(NAME integration/grafana_dashboards COMMAND ${CMAKE_SOURCE_DIR}/tools/gen_grafana.py --check)
add_test(NAME integration/settings_page
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/settings_page.sh $<TARGET_FILE:cuspan>)
add_test(NAME integration/commands
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/commands_test.py $<TARGET_FILE:cuspan>)
add_test(NAME integration/performance_page COMMAND ${CMAKE_SOURCE_DIR}/tests/bench/run.sh page --check)
add_test(NAME integration/fetch_sources COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/fetch_sources_test.sh)
add_test(NAME integration/suites COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/suites_test.sh)
add_test(NAME integration/gpu_programs COMMAND ${CMAKE_COMMAND} -E env "BIN=${CMAKE_CURRENT_BINARY_DIR}/gpu-programs"
         ${CMAKE_SOURCE_DIR}/tests/gpu/cupti_behavior.sh ${CMAKE_CURRENT_BINARY_DIR}/gpu-programs link)
add_test(NAME integration/python_with COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/python_with_test.sh)
add_test(NAME integration/bench COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/project/bench_test.py --build ${CMAKE_BINARY_DIR})
