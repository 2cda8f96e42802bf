# cmake --install BUILD --prefix /opt/cuspan: bin/cuspan looks for the agent in ../lib/cuspan; what belongs to the agent
# (the export module, libcuspan-thread-ctx.so, a CUPTI under cupti/) lies beside it. The replay libraries are installed by cmake/replay.cmake.
install(TARGETS cuspan_agent cuspan_export_module cuspan_thread_ctx LIBRARY DESTINATION lib/cuspan)
install(FILES config/cuspan.yaml DESTINATION share/cuspan)
install(FILES LICENSE DESTINATION share/cuspan OPTIONAL)
install(FILES include/cuspan/cuspan.h DESTINATION include/cuspan)
