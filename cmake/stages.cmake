# One file per stage, in the order of the way of a span; each is written by whoever owns the stage.
include(cmake/base.cmake)
foreach(stage config capture correlate encode export replay share agent cli)
  include(cmake/${stage}.cmake OPTIONAL)
endforeach()
