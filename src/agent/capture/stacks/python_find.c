#include "agent/capture/stacks/python_find.h"

#include "base/process/loader.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- The library ---- */

/* Returns a handle of the object that has `_PyRuntime`; NULL: none. RTLD_NODELETE keeps the object loaded. */
static void *find_library(bool *is_interrupted)
{
    struct loader_walk walk = {0};
    void *found = NULL;
    while (!found && loader_next(&walk)) {
        const char *path = *walk.path ? walk.path : NULL;
        void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (object && dlsym(object, "_PyRuntime"))
            found = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (object)
            dlclose(object);
    }
    *is_interrupted = walk.is_refused;
    return found;
}

/* ---- Its version and layout ---- */

static uint64_t word_at(uintptr_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)address, sizeof word); // NOLINT(performance-no-int-to-ptr)
    return word;
}

struct version {
    unsigned minor;
    bool is_release; /* a release or a release candidate */
    bool is_free_threaded;
    char text[24];
};

/* Reads the version from Py_GetVersion(), which exists in all versions, can be called before Python is
 * initialized, and returns a text such as "3.13.0rc2 (...". */
static bool read_version(void *library, uintptr_t runtime, struct version *version)
{
    const char *(*get_version)(void) = NULL;
    *(void **)&get_version = dlsym(library, "Py_GetVersion");
    const char *text = get_version ? get_version() : "";
    size_t length = strcspn(text, " ");
    if (length >= sizeof version->text || strncmp(text, "3.", 2) != 0)
        return false;
    memcpy(version->text, text, length);
    version->text[length] = '\0';
    version->minor = (unsigned)strtoul(version->text + 2, NULL, 10);
    version->is_release = !strpbrk(version->text, "ab");
    version->is_free_threaded = version->minor >= 13 && word_at(runtime + 16) != 0;
    return true;
}

static const char *check_debug_offsets(const struct python_layout *layout, uintptr_t runtime)
{
    uint64_t hex = word_at(runtime + 8);
    if (memcmp((const void *)runtime, "xdebugpy", 8) != 0) // NOLINT(performance-no-int-to-ptr)
        return "_PyRuntime has no debug offsets";
    if (hex >> 16 != (0x0300u | layout->minor))
        return "its debug offsets are of another version";
    for (int field = 0; field < PYTHON_FRAME_FIELDS; field++) {
        unsigned word = layout->debug_word[field];
        if (word && word_at(runtime + 8 * (uintptr_t)word) != layout->at[field])
            return "its debug offsets differ from the released ones";
    }
    return NULL;
}

static bool has_size(const struct python_layout *layout, void *type, enum python_field size)
{
    return type && word_at((uintptr_t)type + layout->at[PYTHON_TYPE_SIZE]) == layout->at[size];
}

/* Returns why the layout is not that of this interpreter; NULL: it is. */
static const char *check_layout(const struct python_layout *layout, void *library, uintptr_t runtime)
{
    if (layout->minor >= 13) {
        const char *why = check_debug_offsets(layout, runtime);
        if (why)
            return why;
    }
    if (!has_size(layout, dlsym(library, "PyCode_Type"), PYTHON_CODE_OBJECT_SIZE) ||
        !has_size(layout, dlsym(library, "PyFrame_Type"), PYTHON_FRAME_OBJECT_SIZE) ||
        !has_size(layout, dlsym(library, "PyUnicode_Type"), PYTHON_STRING_OBJECT_SIZE))
        return "its objects have other sizes than the released ones";
    return NULL;
}

static enum status fill(struct python *python, void *library, struct error *err)
{
    uintptr_t runtime = (uintptr_t)dlsym(library, "_PyRuntime");
    struct version version;
    if (!read_version(library, runtime, &version))
        return error_set(err, STATUS_UNSUPPORTED, "Python stacks are unavailable: no version of CPython 3");
    const struct python_layout *layout = python_layout_find(version.minor, version.is_free_threaded);
    if (!layout || !version.is_release)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "Python stacks are unavailable with Python %s; supported are the releases of 3.%d to "
            "3.%d",
            version.text, PYTHON_OLDEST_MINOR, PYTHON_NEWEST_MINOR);
    const char *why = check_layout(layout, library, runtime);
    *(void **)&python->thread_state = dlsym(library, "PyGILState_GetThisThreadState");
    *(void **)&python->is_finalizing =
        dlsym(library, version.minor >= 13 ? "Py_IsFinalizing" : "_Py_IsFinalizing");
    python->bytes_type = (uintptr_t)dlsym(library, "PyBytes_Type");
    if (!why && (!python->thread_state || !python->is_finalizing || !python->bytes_type))
        why = "it lacks a function that cuspan needs";
    if (why)
        return error_set(err, STATUS_UNSUPPORTED, "Python stacks are unavailable with this Python %s: %s",
                         version.text, why);
    python->runtime = runtime;
    python->code_type = (uintptr_t)dlsym(library, "PyCode_Type");
    python->string_type = (uintptr_t)dlsym(library, "PyUnicode_Type");
    python->has_one_interpreter = version.minor < 13;
    python->has_positions = !version.is_free_threaded;
    python->layout = layout;
    return STATUS_OK;
}

enum status python_find(struct python *python, struct error *err)
{
    unsigned long long loads = loader_loads();
    bool is_interrupted = false;
    void *library = !loads || loads != python->loads ? find_library(&is_interrupted) : NULL;
    python->loads = is_interrupted ? 0 : loads;
    if (!library)
        return error_set(err, STATUS_NOT_FOUND, "no Python is loaded");
    return fill(python, library, err);
}
