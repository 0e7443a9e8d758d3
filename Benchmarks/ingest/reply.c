#define _GNU_SOURCE
#include "reply.h"

#include <stdbool.h>
#include <string.h>

#define HEAD "{\"parameters\":{\"receipts\":["
#define RECEIPT_START "{\"id\":\""
#define RECEIPT_END "\"}"
#define TAIL "]}}"

static bool starts(const char **position, const char *end, const char *text, size_t length) {
    if ((size_t)(end - *position) < length || memcmp(*position, text, length) != 0) return false;
    *position += length;
    return true;
}

#define STARTS(position, end, text) starts(position, end, text, sizeof(text) - 1)

/* Returns true if the reply has only ids, in the usual form. This is a fast path for
   most replies; `read_reply` parses the others. */
static bool is_all_stored(const char *bytes, size_t length, uint32_t records) {
    const char *position = bytes, *end = bytes + length;
    if (!STARTS(&position, end, HEAD)) return false;
    for (uint32_t index = 0; index < records; index++) {
        if (index > 0 && !STARTS(&position, end, ",")) return false;
        if (!STARTS(&position, end, RECEIPT_START)) return false;
        const char *quote = memchr(position, '"', (size_t)(end - position));
        if (quote == NULL || quote == position) return false;
        position = quote;
        if (!STARTS(&position, end, RECEIPT_END)) return false;
    }
    return STARTS(&position, end, TAIL) && position == end;
}

static uint32_t occurrences(const char *bytes, size_t length, const char *text) {
    uint32_t count = 0;
    size_t width = strlen(text);
    const char *end = bytes + length;
    while ((bytes = memmem(bytes, (size_t)(end - bytes), text, width)) != NULL) {
        count++;
        bytes += width;
    }
    return count;
}

struct reply read_reply(const char *bytes, size_t length, uint32_t records) {
    if (is_all_stored(bytes, length, records)) return (struct reply){.stored = records};
    struct reply reply = {0};
    if (length < sizeof HEAD - 1 || memcmp(bytes, HEAD, sizeof HEAD - 1) != 0) return reply;
    reply.duplicates = occurrences(bytes, length, "\"duplicate\":true");
    reply.rejected = occurrences(bytes, length, "\"rejected\":{");
    uint32_t ids = occurrences(bytes, length, "\"id\":\"");
    reply.stored = ids > reply.duplicates ? ids - reply.duplicates : 0;
    return reply;
}
