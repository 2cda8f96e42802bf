/* Turns collected spans and resources into the columns of a Parquet file. */
#pragma once

#include "analysis/export/dictionary.h"
#include "analysis/export/fleet_group.h"

/* Memory that is reused. A zeroed one is empty. */
struct fleet_encoder {
    struct dictionary dictionary;
    uint32_t *indices, *defined, *repeated;
    size_t index_capacity, defined_capacity, repeated_capacity;
    struct bytes types;
    size_t repeated_keys; /* attributes of resources whose key the resource already had */
};

void fleet_encoder_deinit(struct fleet_encoder *encoder);

/* Adds a row group. */
enum status fleet_encode_group(struct fleet_encoder *encoder, const struct fleet_group *group,
                               const struct trace *trace, const uint64_t *resource_ids,
                               struct parquet_file *file, struct error *err) MUST_CHECK;
/* The same for all resources. */
enum status fleet_encode_resources(struct fleet_encoder *encoder, const struct trace *trace,
                                   const uint64_t *resource_ids, struct parquet_file *file,
                                   struct error *err) MUST_CHECK;
