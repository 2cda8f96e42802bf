/* The entry that the CUDA driver calls. */
#pragma once

/* Called in the library of CUDA_INJECTION64_PATH, on the thread that initializes CUDA. Always returns 1: the
 * host must not fail because of us. */
__attribute__((visibility("default"))) int InitializeInjection(void);
