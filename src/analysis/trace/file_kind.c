#include "analysis/trace/file_kind.h"

#include <stdbool.h>
#include <string.h>

#define NO_SPANS                                                                                             \
    ", not spans; cuspan reads OTLP JSON and protobuf (also compressed by gzip or zstd), and recordings"
#define IS_PACKED(by, command) "it is compressed by " by ", which cuspan does not read; use " command " first"
#define IS_PACKED_TWICE(by)    "it was compressed twice, the first time by " by "; decompress it once"
#define IS_UTF_16(code)        "it is UTF-16 text; convert it first: iconv -f " code " -t UTF-8"
#define MAGIC(bytes, what)                                                                                   \
    {                                                                                                        \
        bytes, sizeof bytes - 1, 0, what                                                                     \
    }

const char *file_kind(const char *bytes, size_t len)
{
    static const struct {
        const char *magic;
        size_t len, offset;
        const char *what;
    } kinds[] = {
        MAGIC("\x7f"
              "ELF",
              "it is an ELF program or library" NO_SPANS),
        MAGIC("\x89"
              "CUSPAN\n",
              "it is a compressed recording; decompress it first"),
        MAGIC("PAR1", "it is a Parquet file" NO_SPANS "; cuspan fleet reads folders of cuspan export"),
        MAGIC("SQLite format 3", "it is an SQLite database" NO_SPANS),
        MAGIC("PK\x03\x04", "it is a zip file" NO_SPANS),
        MAGIC("\x89PNG", "it is a PNG picture" NO_SPANS),
        MAGIC("%PDF", "it is a PDF document" NO_SPANS),
        MAGIC("#!", "it is a script" NO_SPANS),
        MAGIC("<", "it is XML or HTML" NO_SPANS),
        MAGIC("\xfd"
              "7zXZ",
              IS_PACKED("xz", "xz -d")),
        MAGIC("\x1f\x8b", IS_PACKED_TWICE("gzip")), /* the outer one has been removed */
        MAGIC("\x28\xb5\x2f\xfd", IS_PACKED_TWICE("zstd")),
        MAGIC("BZh", IS_PACKED("bzip2", "bzip2 -d")),
        MAGIC("\x04\x22\x4d\x18", IS_PACKED("lz4", "lz4 -d")),
        MAGIC("\xff\x06\x00\x00sNaPpY", IS_PACKED("snappy", "a decompressor")),
        MAGIC("\xff\xfe", IS_UTF_16("UTF-16")),
        MAGIC("\xfe\xff", IS_UTF_16("UTF-16")),
        MAGIC("{\0", IS_UTF_16("UTF-16LE")),
        MAGIC("[\0", IS_UTF_16("UTF-16LE")),
        MAGIC("\0{\0", IS_UTF_16("UTF-16BE")),
        MAGIC("\0[\0", IS_UTF_16("UTF-16BE")),
        {"ustar", 5, 257, "it is a tar archive" NO_SPANS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (len >= kinds[i].offset + kinds[i].len &&
            memcmp(bytes + kinds[i].offset, kinds[i].magic, kinds[i].len) == 0)
            return kinds[i].what;
    }
    unsigned char first = len ? (unsigned char)*bytes : '{';
    bool is_binary = first >= 0x80 || !first || (first < ' ' && !strchr("\t\r\n", first));
    return is_binary ? "it is a binary file" NO_SPANS : NULL;
}
