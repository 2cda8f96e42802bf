# The formats of stack frames of Python and of native code, for capture and watch.
cuspan_library(frames agent/frames)
target_link_libraries(cuspan_frames PUBLIC cuspan_model)
