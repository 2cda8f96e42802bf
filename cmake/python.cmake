# python.zip beside the agent: `cuspan run` puts it into PYTHONPATH, so that Python programs load what follows their
# training steps. Without Python, the build has none, and only programs with the wheel's package find their steps.
find_program(CUSPAN_PYTHON python3)
if(CUSPAN_PYTHON)
  set(python_sources python/cuspan_auto.py python/startup/sitecustomize.py python/_build/archive.py
                     python/_build/metadata.py python/_build/startup_archive.py CMakeLists.txt)
  file(GLOB python_modules RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS python/cuspan/*.py)
  add_custom_command(
    OUTPUT python.zip
    COMMAND ${CUSPAN_PYTHON} ${CMAKE_SOURCE_DIR}/python/_build/startup_archive.py ${CMAKE_BINARY_DIR}/python.zip
    DEPENDS ${python_sources} ${python_modules})
  add_custom_target(cuspan_python ALL DEPENDS python.zip)
  install(FILES ${CMAKE_BINARY_DIR}/python.zip DESTINATION lib/cuspan)
else()
  message(STATUS "python3 was not found: without it, cuspan run cannot find the steps of PyTorch programs")
endif()
