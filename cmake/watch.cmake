# Looks at the process from a thread of ours.
cuspan_library(watch agent/watch)
target_link_libraries(cuspan_watch PUBLIC cuspan_frames cuspan_model)
