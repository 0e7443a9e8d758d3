#ifndef BLOCK_H
#define BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rows.h"

/* The maximum number of records in a block, as in the daemon (BlockLog.maxRecords). This traffic does not reach
   the daemon's limit on the size of the text. */
enum { BLOCK_RECORDS = 256 };

struct bytes {
    const unsigned char *start;
    size_t length;
};

/* The columns of a block that its checksum covers. */
struct block_id {
    int64_t first_id;
    int64_t last_id;
    int64_t records;
};

/* Encodes the body of a block as described in Storage.md. It is valid until the next call. */
struct bytes encode_block(const struct row *rows, uint32_t count, int64_t received_at);

/* Returns the CRC-32 of a block. */
int64_t block_checksum(struct block_id id, struct bytes body);

/* The fields of a record that `decode_block` reads. */
struct record_head {
    int64_t id;
    int64_t series;
};

/* Checks a block of the daemon and returns its records, which are valid until the next call. Fails if the block is
   invalid. */
const struct record_head *decode_block(struct block_id id, int64_t checksum, struct bytes body);

#endif
