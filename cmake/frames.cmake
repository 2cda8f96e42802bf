# What capture and watch know about frames of Python and of native code.
cuspan_library(frames agent/frames)
target_link_libraries(cuspan_frames PUBLIC cuspan_model)
