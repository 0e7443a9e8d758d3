#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

/* A call whose reply has not come yet. */
struct call {
    int64_t started;
    uint32_t records;
};

/* A call that was written before it is sent: where it ends, and what it carries. */
struct prepared_call {
    size_t end;
    uint32_t records;
};

/* One client: sends calls without waiting for the replies, which come in the
   order of the calls. */
struct connection {
    int descriptor;
    uint32_t window;
    uint32_t in_flight;
    /* Whether the kernel takes no more bytes for now. */
    bool is_blocked;
    uint64_t sequence;
    /* What stands behind the records of a call, up to its number. */
    char numbered_tail[96];
    size_t numbered_tail_length;

    char *output;
    size_t output_start, output_end, output_capacity, longest_call;
    /* What stands ready in place of the output, if anything does. */
    struct prepared_call *prepared;
    size_t prepared_count, next_prepared;
    char *input;
    size_t input_length, input_capacity;

    /* A ring, oldest first. */
    struct call *calls;
    uint32_t first_call, call_count, call_capacity;
};

/* Connects to a socket; up to so many records may wait for their receipts. */
void connection_open(struct connection *connection, const char *path, uint32_t window, const struct load *load);

/* Whether the next call fits into the window and into memory. */
bool connection_has_room(const struct connection *connection, const struct load *load);

/* Writes so many records' calls before they are sent, so that writing them takes nothing of the processor then. */
void connection_prepare(struct connection *connection, struct load *load, uint64_t records);

/* Adds a call to what is to be sent; its latency counts from a time on. */
void connection_compose(struct connection *connection, struct load *load, int64_t started);

/* Sends what the kernel takes now. */
void connection_flush(struct connection *connection, struct load *load);

/* Reads the replies that are there, and counts what they say. */
void connection_receive(struct connection *connection, struct load *load);

#endif
