foreach(module files ring chunk trace_context counters balance status log shown clock own_cpu)
  cuspan_unit_test(${module} cuspan_base)
endforeach()
cuspan_unit_test(filter cuspan_model)
