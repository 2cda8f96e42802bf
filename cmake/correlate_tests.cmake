foreach(module names pending waiting session correlate attributes devices graphs)
  cuspan_unit_test(${module} cuspan_correlate)
endforeach()
