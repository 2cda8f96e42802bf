foreach(module files ring chunk trace_context counters balance status log shown clock own_cpu)
  cuspan_unit_test(${module} cuspan_base)
endforeach()
foreach(module filter histogram views links gpu_counters)
  cuspan_unit_test(${module} cuspan_model)
endforeach()
target_link_libraries(histogram_test PRIVATE m) # it does by libm what the code does without
