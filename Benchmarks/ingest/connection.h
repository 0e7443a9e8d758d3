#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load.h"

/* A call whose reply is outstanding. */
struct call {
    int64_t started;
    uint32_t records;
};

/* A call prepared in memory: the offset of its end, and the number of its records. */
struct prepared_call {
    size_t end;
    uint32_t records;
};

/* One client. It sends calls without waiting for the replies. The replies arrive in
   the order of the calls. */
struct connection {
    int descriptor;
    uint32_t window;
    uint32_t in_flight;
    /* True while the send buffer of the kernel is full. */
    bool is_blocked;
    uint64_t sequence;
    /* The text after the records of a numbered call, up to the number. */
    char numbered_tail[96];
    size_t numbered_tail_length;

    char *output;
    size_t output_start, output_end, output_capacity, longest_call;
    /* The calls in `output` that were prepared in advance; NULL if calls are written when they are sent. */
    struct prepared_call *prepared;
    size_t prepared_count, next_prepared;
    char *input;
    size_t input_length, input_capacity;

    /* A ring, oldest first. */
    struct call *calls;
    uint32_t first_call, call_count, call_capacity;
};

/* Connects to a socket. At most `window` records may be in flight. */
void connection_open(struct connection *connection, const char *path, uint32_t window, const struct load *load);

/* Returns true if there is a further call and it fits into the window and the output buffer. */
bool connection_can_send(const struct connection *connection, const struct load *load);

/* Prepares the calls for `records` records, so that no time is spent on encoding while they are sent. */
void connection_prepare(struct connection *connection, struct load *load, uint64_t records);

/* Adds a call to the output. Its latency is measured from `started`. */
void connection_compose(struct connection *connection, struct load *load, int64_t started);

/* Sends as much of the output as the kernel accepts. */
void connection_flush(struct connection *connection, struct load *load);

/* Reads the replies that have arrived, and counts their receipts. */
void connection_receive(struct connection *connection, struct load *load);

#endif
