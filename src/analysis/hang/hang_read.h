/* Reads what is known of ranks: from the processes of this host, from files of live states that outlive their
 * process, from reports of hangs in files of OTLP logs, and from what `cuspan hang --json --this-host`
 * printed on other hosts.
 *
 * Nothing here trusts the writer. A live state is copied and checked (model/hang/live_reader.h); a process of
 * another user may have any file behind its descriptors, so that only a regular one is opened for reading. */
#pragma once

#include "analysis/hang/hang.h"
#include "base/text/json_writer.h"

struct hang_host {
    size_t found;   /* processes with a live state */
    size_t refused; /* processes that this user must not read */
};

struct yyjson_val;

/* The processes of this user; for root, of all users. `proc` is "/proc". */
void hang_read_host(struct hang_model *model, const char *proc, struct hang_host *host);
/* The files of live states in a directory of control sockets (base/control_path.h), most of which are of
 * ended processes. Skips unreadable ones. */
void hang_read_folder(struct hang_model *model, const char *path);
/* A file of a live state, or of lines of JSON, maybe compressed; "-": standard input. Ranks that were read
 * before an error stay. IO, INVALID. */
enum status hang_read_file(struct hang_model *model, const char *path, struct error *err) MUST_CHECK;

bool hang_is_live_file(const char *path);

/* Where a process is outside CUDA, from its state and the kernel function in which it sleeps. */
enum hang_where hang_where_in_kernel(char state, const char *kernel_function, bool has_dead_child);

/* The ranks as members of an open object: "ranks", with their calls. */
void hang_write_ranks(struct json_writer *json, const struct hang_model *model);
/* Adds the reports of a document of OTLP logs. */
void hang_read_logs(struct hang_model *model, struct yyjson_val *root);
/* Notes what NCCL's RAS printed as JSON. False: it is something else. */
bool hang_read_ras(struct hang_model *model, struct yyjson_val *root);
/* Adds the ranks that only RAS knows; by hang_drop_repeated(). */
void hang_merge_ras(struct hang_model *model);
/* An item of an array: which process a rank is, and where. */
void hang_write_culprit(struct json_writer *json, const struct hang_rank *rank);
/* Adds the ranks of documents that were written so, and of reports in OTLP logs, of each process the latest.
 * INVALID. */
enum status hang_read_json(struct hang_model *model, char *text, size_t len, struct error *err) MUST_CHECK;

/* Removes ranks of a process that was read before: a live state comes before a file of it. A report only adds
 * the line to the live state of the same process. */
void hang_drop_repeated(struct hang_model *model);
