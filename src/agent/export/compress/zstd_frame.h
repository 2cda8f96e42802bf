/* Compresses whole buffers, for commands. */
#pragma once

#include "model/entries/zstd_entry.h"

extern const struct zstd_api zstd_frame_api;
