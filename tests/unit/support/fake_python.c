/* A Python of which only the parts exist that python_find() and python_look_find() read, as a library that is
 * loaded late with RTLD_LOCAL. With FAKE_PYTHON_BARE it lacks functions. */
#include "fake_python.h"

#pragma GCC visibility push(default)

uint64_t _PyRuntime[256];
uint64_t PyCode_Type[8], PyFrame_Type[8], PyUnicode_Type[8], PyBytes_Type[8];
char fake_python_version[64];
extern unsigned long Py_Version;
unsigned long Py_Version;

const char *Py_GetVersion(void);
const char *Py_GetVersion(void)
{
    return fake_python_version;
}

#ifndef FAKE_PYTHON_BARE
void *PyGILState_GetThisThreadState(void);
void *PyGILState_GetThisThreadState(void)
{
    return _PyRuntime;
}

int Py_IsFinalizing(void);
int Py_IsFinalizing(void)
{
    return 13;
}

int _Py_IsFinalizing(void);
int _Py_IsFinalizing(void)
{
    return 12;
}
#endif
