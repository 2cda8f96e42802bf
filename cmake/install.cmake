# cmake --install BUILD --prefix /opt/cuspan: bin/cuspan looks for the agent in ../lib/cuspan. The agent's other parts (the
# export module, libcuspan-thread-ctx.so, a CUPTI under cupti/) are in the same folder. cmake/replay.cmake installs the
# replay libraries.
install(TARGETS cuspan_agent cuspan_export_module cuspan_thread_ctx cuspan_share LIBRARY DESTINATION lib/cuspan)
install(FILES config/cuspan.yaml DESTINATION share/cuspan)
install(FILES LICENSE DESTINATION share/cuspan OPTIONAL)
install(FILES include/cuspan/cuspan.h DESTINATION include/cuspan)

# The licenses of all libraries that are linked in: those built by tools/fetch-sources.sh, and the distribution's.
set(linked_packages libzstd-dev libyaml-dev zlib1g-dev)
if(CUSPAN_GZIP STREQUAL "ISA-L")
  install(DIRECTORY ${isal_place}/licenses DESTINATION share/cuspan)
else()
  list(APPEND linked_packages libdeflate-dev)
endif()
if(CUSPAN_CURL_KIND STREQUAL "static")
  install(DIRECTORY ${curl_place}/licenses DESTINATION share/cuspan)
  list(APPEND linked_packages libssl-dev)
endif()
foreach(package ${linked_packages})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/cuspan/licenses RENAME ${package} OPTIONAL)
endforeach()
