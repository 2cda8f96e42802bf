#include "export/otlp/transport.h"

#include <dlfcn.h>

enum status transport_load(const char *path, const struct transport **transport, struct error *err)
{
    /* LOCAL: nothing of it may satisfy a symbol of the host's. DEEPBIND is out: it bypasses a host's own
     * malloc. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        const char *reason = dlerror();
        return error_set(err, STATUS_NOT_FOUND,
                         "can't load %s, which belongs beside libcuspan.so (%s); spans are lost: install "
                         "cuspan again, or put "
                         "the file there",
                         path, reason ? reason : "unknown reason");
    }
    const struct transport *(*get)(void);
    *(void **)&get = dlsym(module, TRANSPORT_SYMBOL);
    const struct transport *found = get ? get() : NULL;
    if (!found || found->version != TRANSPORT_VERSION)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s is of another build than libcuspan.so; spans are lost: install cuspan again",
                         path);
    *transport = found;
    return STATUS_OK;
}
