# For programs of ours: options, text, terminal.
cuspan_library(cli cli)
target_link_libraries(cuspan_cli PUBLIC cuspan_base m)
