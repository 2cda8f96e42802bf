/* Attributes that had another name in an earlier version: recordings and stored spans may have it. */
#pragma once

/* The name that the attribute has today: `name` itself if it was never renamed. */
const char *renamed_attribute(const char *name);
