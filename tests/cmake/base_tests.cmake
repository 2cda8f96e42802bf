foreach(module files utf8 protobuf_reader ring chunk trace_context counters balance status log sanitize json_writer clock cpu_time guarded_fd loader variables)
  cuspan_unit_test(${module} cuspan_base)
endforeach()
foreach(module filter histogram views links gpu_counter_names step iteration live_state stall stall_healthy)
  cuspan_unit_test(${module} cuspan_model)
endforeach()
target_link_libraries(stall_healthy_test PRIVATE m)
target_link_libraries(histogram_test PRIVATE m) # it uses libm where the code does not
