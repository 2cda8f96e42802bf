foreach(module names objects pending waiting session correlate attributes devices graphs)
  cuspan_unit_test(${module} cuspan_correlate)
endforeach()
