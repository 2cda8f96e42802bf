# cuspan_sources(VARIABLE FOLDER... [WITHOUT REGEX]): the sources below these folders of src.
function(cuspan_sources variable)
  cmake_parse_arguments(PARSE_ARGV 1 asked "" WITHOUT "")
  list(TRANSFORM asked_UNPARSED_ARGUMENTS REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/src/\\1/*.c" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  if(asked_WITHOUT)
    list(FILTER found EXCLUDE REGEX "${asked_WITHOUT}")
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# cuspan_library(NAME FOLDER... [WITHOUT REGEX]): the static library cuspan_NAME of these folders, so that tests link nothing else.
function(cuspan_library name)
  cuspan_sources(sources ${ARGN})
  add_library(cuspan_${name} STATIC ${sources})
endfunction()

# Each includes only those before it.
foreach(part base config frames capture watch correlate encode export replay share core cli operate analysis command python)
  include(cmake/${part}.cmake)
endforeach()
include(cmake/size.cmake)
