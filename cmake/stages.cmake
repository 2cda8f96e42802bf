# One file per stage, in the order in which a span passes them.
include(cmake/base.cmake)
foreach(stage config capture correlate encode export replay share agent cli python)
  include(cmake/${stage}.cmake OPTIONAL)
endforeach()
