foreach(module names objects pending waiting sampler session own_cost correlate attributes devices graphs totals accounts summaries
        lingering shared busy allocations figures gpu_counted)
  cuspan_unit_test(${module} cuspan_correlate)
endforeach()

# The sampler beside an SDK's that implements the same specification (which the script fetches from PyPI).
add_executable(sampler_decisions tests/integration/sampler_decisions.c)
target_link_libraries(sampler_decisions PRIVATE cuspan_correlate)
add_test(NAME integration/sampler_sdk
         COMMAND ${CMAKE_SOURCE_DIR}/tests/integration/sampler_sdk_test.sh $<TARGET_FILE:sampler_decisions>)
