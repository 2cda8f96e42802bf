# The functions that other tools call instead of CUPTI's. They are in the agent, and in a library to preload. The library needs only libc.
cuspan_sources(share_sources agent/share)
add_library(cuspan_share SHARED ${share_sources})
set_target_properties(cuspan_share PROPERTIES OUTPUT_NAME cuspan-share LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/agent/share/libcuspan-share.map)
target_link_libraries(cuspan_share PRIVATE ${CMAKE_DL_LIBS})
target_link_options(cuspan_share PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/agent/share/libcuspan-share.map
                    -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,-z,nodelete)
