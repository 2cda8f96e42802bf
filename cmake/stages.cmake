# One file per stage, in the order in which a span passes them.
include(cmake/base.cmake)
set(CUSPAN_SHARE_SOURCES src/agent/share/share.c src/agent/share/entries.c src/agent/share/held_buffers.c src/agent/share/redirect.c)
foreach(stage config capture correlate encode export replay share agent cli python)
  include(cmake/${stage}.cmake OPTIONAL)
endforeach()

# Tables for unwinding take room in the agent's image. These stages run on our threads, which nobody cancels, and no exception
# passes through them. A debugger has .debug_frame.
foreach(stage recording correlate encode export)
  target_compile_options(cuspan_${stage} PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
endforeach()
foreach(library cuspan-replay cuspan-replay-classic)
  if(TARGET ${library})
    target_compile_options(${library} PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
  endif()
endforeach()
