# cmake --install BUILD --prefix /opt/cuspan: bin/cuspan looks for the agent in ../lib/cuspan. The agent's other parts (the
# export module, libcuspan-thread-ctx.so, a CUPTI under cupti/) are in the same folder. cmake/replay.cmake installs the
# replay libraries.
install(TARGETS cuspan_agent cuspan_export_module cuspan_thread_ctx cuspan_share LIBRARY DESTINATION lib/cuspan)
install(FILES config/cuspan.yaml config/otel-config.yaml DESTINATION share/cuspan)
install(FILES config/50-cuspan.conf DESTINATION share/cuspan/systemd)
install(FILES LICENSE DESTINATION share/cuspan OPTIONAL)
if(EXISTS ${CMAKE_SOURCE_DIR}/deploy/slurm) # the source archive for pip has none
  install(DIRECTORY deploy/slurm DESTINATION share/cuspan USE_SOURCE_PERMISSIONS)
endif()
install(FILES include/cuspan/cuspan.h DESTINATION include/cuspan)

# The licenses of all libraries that are linked in: those built by tools/fetch-sources.sh, and the distribution's.
set(linked_packages libzstd-dev libyaml-dev zlib1g-dev)
if(CUSPAN_GZIP STREQUAL "ISA-L")
  install(DIRECTORY ${isal_place}/licenses DESTINATION share/cuspan)
else()
  list(APPEND linked_packages libdeflate-dev)
endif()
if(EXISTS ${json_place}/licenses)
  install(DIRECTORY ${json_place}/licenses DESTINATION share/cuspan)
endif()
if(CUSPAN_CURL_KIND STREQUAL "static")
  install(DIRECTORY ${curl_place}/licenses DESTINATION share/cuspan)
  list(APPEND linked_packages libssl-dev)
endif()
if(CUSPAN_LIBRARIES)
  set(linked_packages)
endif()
foreach(package ${linked_packages})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/cuspan/licenses RENAME ${package} OPTIONAL)
endforeach()

# For programs that use cuspan.h. In share/, because the files are the same for all architectures, and because pkg-config
# and CMake search it on every distribution (lib/ or lib64/ depends on it).
include(CMakePackageConfigHelpers)
configure_file(cmake/cuspan.pc.in cuspan.pc @ONLY)
configure_file(cmake/cuspanConfig.cmake.in cuspanConfig.cmake COPYONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cuspanConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_BINARY_DIR}/cuspan.pc DESTINATION share/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/cuspanConfig.cmake ${CMAKE_BINARY_DIR}/cuspanConfigVersion.cmake
        DESTINATION share/cmake/cuspan)

# Man pages and completion scripts come from the program.
set(CUSPAN_HOST_PROGRAM "" CACHE FILEPATH "A cuspan of this version that runs on this machine, for cross builds")
install(CODE "set(CUSPAN \"${CMAKE_BINARY_DIR}/cuspan\")
  if(NOT \"${CUSPAN_HOST_PROGRAM}\" STREQUAL \"\")
    set(CUSPAN \"${CUSPAN_HOST_PROGRAM}\")
  endif()
  set(CUSPAN_VERSION ${PROJECT_VERSION})")
install(SCRIPT cmake/generated_files.cmake)
