cuspan_library(correlate agent/correlate)
# The demangler of the C++ runtime, linked statically: no C++ runtime is needed or loaded.
if(CUSPAN_LIBRARIES)
  set(CUSPAN_DEMANGLER ${CUSPAN_LIBRARIES}/lib/libdemangle.a)
else()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libsupc++.a OUTPUT_VARIABLE CUSPAN_DEMANGLER
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
target_link_libraries(cuspan_correlate PUBLIC cuspan_model ${CUSPAN_DEMANGLER})
