/* The variables of fake_python.c. */
#pragma once

#include <stdint.h>

extern uint64_t _PyRuntime[256];
extern uint64_t PyCode_Type[8], PyFrame_Type[8], PyUnicode_Type[8], PyBytes_Type[8];
extern char fake_python_version[64];
