# Part of `cmake --install`: CUSPAN, a program that runs here, writes the man pages and the completion scripts from its table
# of commands. cmake/install.cmake sets CUSPAN and CUSPAN_VERSION.
set(share "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")

# output VARIABLE ARGUMENT...: what the program prints.
function(output variable)
  execute_process(COMMAND ${CUSPAN} ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE error RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT text)
    message(FATAL_ERROR "cannot write the man pages: `${CUSPAN} ${ARGN}` failed (${status}) ${error}\n"
      "In a cross build, set -DCUSPAN_HOST_PROGRAM to a cuspan of the same version that runs on this machine.")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

function(write file)
  output(text ${ARGN})
  message(STATUS "Installing: ${share}/${file}")
  file(WRITE ${share}/${file} "${text}")
endfunction()

output(version version)
if(NOT version MATCHES "^cuspan ${CUSPAN_VERSION}[ \n]")
  message(FATAL_ERROR "cannot write the man pages: ${CUSPAN} is not version ${CUSPAN_VERSION}; "
    "set -DCUSPAN_HOST_PROGRAM to a cuspan of this version")
endif()

output(help help)
string(REGEX MATCHALL "\n  [a-z]+ " commands "${help}")
if(NOT commands)
  message(FATAL_ERROR "cannot write the man pages: `${CUSPAN} help` lists no commands")
endif()
write(man/man1/cuspan.1 help --man cuspan)
foreach(command ${commands})
  string(STRIP ${command} command)
  write(man/man1/cuspan-${command}.1 help --man ${command})
endforeach()
write(bash-completion/completions/cuspan help --completion bash)
write(zsh/site-functions/_cuspan help --completion zsh)
write(fish/vendor_completions.d/cuspan.fish help --completion fish)
