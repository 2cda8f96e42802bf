#include "export/otlp/transport.h"

#include <dlfcn.h>

enum status transport_load(const char *path, const struct transport **transport, struct error *err)
{
    /* LOCAL, so that the host does not bind to the module's symbols. Not DEEPBIND, which would bypass the
     * host's malloc. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        const char *reason = dlerror();
        return error_set(err, STATUS_NOT_FOUND,
                         "cannot load %s (%s); spans are lost; reinstall cuspan, or put the file next to "
                         "libcuspan.so",
                         path, reason ? reason : "unknown reason");
    }
    const struct transport *(*get)(void);
    *(void **)&get = dlsym(module, TRANSPORT_SYMBOL);
    const struct transport *found = get ? get() : NULL;
    if (!found || found->version != TRANSPORT_VERSION)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "cannot use %s (its version differs from libcuspan.so); spans are lost; reinstall cuspan", path);
    *transport = found;
    return STATUS_OK;
}
