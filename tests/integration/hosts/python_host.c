/* Embeds a Python that it loads late, in a scope of its own, and walks before, during and after it. Prints
 * one word per walk, and what the walk says of a function: python_host WALKER LIBPYTHON. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct method {
    const char *name;
    void *(*function)(void *self, void *arguments);
    int flags;
    const char *doc;
};

#define METHOD_WITHOUT_ARGUMENTS 4

static void *walker, *libpython;
static int (*walker_stack)(char *to, size_t size, uint32_t max, uint64_t *hash);
static void *(*none)(const char *format, ...);

static void *look_up(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fprintf(stderr, "%s\n", dlerror());
    return found ? found : (exit(1), NULL);
}

static void walk(void)
{
    char text[4096];
    int stack = walker_stack(text, sizeof text, 64, NULL);
    printf("%d %s\n", stack, text);
}

static void *walk_from_python(void *self, void *arguments)
{
    walk();
    return none("");
}

static void run(void)
{
    static struct method method = {"walk", walk_from_python, METHOD_WITHOUT_ARGUMENTS, NULL};
    void (*initialize)(int) = NULL;
    void *(*add_module)(const char *) = NULL, *(*make_function)(struct method *, void *, void *) = NULL;
    int (*set_attribute)(void *, const char *, void *) = NULL, (*run_string)(const char *, void *) = NULL;
    int (*finalize)(void) = NULL;
    *(void **)&initialize = look_up(libpython, "Py_InitializeEx");
    *(void **)&add_module = look_up(libpython, "PyImport_AddModule");
    *(void **)&make_function = look_up(libpython, "PyCFunction_NewEx");
    *(void **)&set_attribute = look_up(libpython, "PyObject_SetAttrString");
    *(void **)&run_string = look_up(libpython, "PyRun_SimpleStringFlags");
    *(void **)&finalize = look_up(libpython, "Py_FinalizeEx");
    *(void **)&none = look_up(libpython, "Py_BuildValue");
    initialize(0);
    walk();
    if (set_attribute(add_module("__main__"), "walk", make_function(&method, NULL, NULL)) != 0 ||
        run_string("def inner():\n    walk()\ndef outer():\n    inner()\n\nouter()\n", NULL) != 0)
        exit(1);
    if (finalize() != 0)
        exit(1);
    walk();
}

int main(int argc, char **argv)
{
    int (*walker_find)(char *text, size_t size) = NULL;
    char text[512];
    if (argc != 3 || !(walker = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)))
        return 2;
    *(void **)&walker_find = look_up(walker, "walker_find");
    *(void **)&walker_stack = look_up(walker, "walker_stack");
    printf("%d\n", walker_find(text, sizeof text));
    if (!(libpython = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)))
        return 2;
    printf("%d\n", walker_find(text, sizeof text));
    walk();
    run();
    run();
    return 0;
}
