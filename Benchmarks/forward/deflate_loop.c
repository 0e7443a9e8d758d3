/* Measures zlib alone. Inflates the bodies that a listener received, then deflates
   each again at the same level and in the same portions. Only the deflating is
   timed. Also prints the number of lines and the time from the first answer to
   the last. */
#define _GNU_SOURCE
#include "../ingest/failure.h"
#include "../ingest/stopwatch.h"
#include "bodies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { gzip_window = 15 + 16, memory_level = 8 };

struct buffer {
    unsigned char *bytes;
    size_t capacity;
};

static void grow(struct buffer *buffer, size_t capacity) {
    if (capacity <= buffer->capacity) return;
    buffer->bytes = realloc(buffer->bytes, capacity);
    if (buffer->bytes == NULL) fail("no memory for %zu bytes", capacity);
    buffer->capacity = capacity;
}

static size_t inflate_into(struct buffer *plain, const unsigned char *bytes, size_t count) {
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (unsigned)count};
    if (inflateInit2(&stream, gzip_window) != Z_OK) fail("zlib cannot be initialised");
    int result;
    do {
        grow(plain, stream.total_out + (1 << 20));
        stream.next_out = plain->bytes + stream.total_out;
        stream.avail_out = (unsigned)(plain->capacity - stream.total_out);
        result = inflate(&stream, Z_NO_FLUSH);
    } while (result == Z_OK);
    if (result != Z_STREAM_END) fail("a body is not gzip: %s", stream.msg == NULL ? "unexpected end" : stream.msg);
    size_t length = stream.total_out;
    inflateEnd(&stream);
    return length;
}

static size_t lines_in(const unsigned char *bytes, size_t count) {
    size_t lines = 0;
    const unsigned char *end = bytes + count;
    for (const unsigned char *at = bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) lines++;
    return lines;
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: deflate_loop LEVEL BODIES");
    int level = atoi(arguments[1]);
    FILE *file = fopen(arguments[2], "rb");
    if (file == NULL) fail("%s: %s", arguments[2], strerror(errno));
    z_stream stream = {0};
    if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK) {
        fail("zlib cannot be initialised");
    }
    struct buffer body = {0}, plain = {0}, packed = {0};
    struct stopwatch watch = {0};
    struct body_head head;
    size_t bodies = 0, lines = 0, first_lines = 0, plain_bytes = 0, sent_bytes = 0, packed_bytes = 0;
    int64_t first_at = 0, last_at = 0;
    while (fread(&head, sizeof head, 1, file) == 1) {
        grow(&body, head.length);
        if (fread(body.bytes, 1, head.length, file) != head.length) fail("%s: the last body is incomplete", arguments[2]);
        size_t length = head.length;
        if (head.is_compressed) {
            length = inflate_into(&plain, body.bytes, head.length);
        } else {
            grow(&plain, length);
            memcpy(plain.bytes, body.bytes, length);
        }
        size_t here = lines_in(plain.bytes, length);
        if (bodies++ == 0) {
            first_at = head.answered_at;
            first_lines = here;
        }
        last_at = head.answered_at;
        lines += here;
        plain_bytes += length;
        sent_bytes += head.length;
        grow(&packed, deflateBound(&stream, length));
        stopwatch_start(&watch);
        stream.next_in = plain.bytes;
        stream.avail_in = (unsigned)length;
        stream.next_out = packed.bytes;
        stream.avail_out = (unsigned)packed.capacity;
        if (deflate(&stream, Z_FINISH) != Z_STREAM_END) fail("zlib did not finish the stream");
        packed_bytes += stream.total_out;
        deflateReset(&stream);
        stopwatch_stop(&watch);
    }
    printf("{\"bodies\": %zu, \"lines\": %zu, \"lines_of_the_first\": %zu, \"seconds_from_first_to_last\": %.6f,"
           " \"plain_bytes\": %zu, \"sent_bytes\": %zu, \"deflated_bytes\": %zu, \"deflate_seconds\": %.6f}\n",
           bodies, lines, first_lines, in_seconds(last_at - first_at), plain_bytes, sent_bytes, packed_bytes,
           in_seconds(watch.wall));
    return 0;
}
