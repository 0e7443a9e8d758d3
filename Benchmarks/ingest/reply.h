#ifndef REPLY_H
#define REPLY_H

#include <stddef.h>
#include <stdint.h>

/* What the daemon answered to a call, counted. */
struct reply {
    uint32_t stored;
    uint32_t rejected;
    uint32_t duplicates;
};

/* Reads a reply (without its NUL) to a call with so many records. */
struct reply read_reply(const char *bytes, size_t length, uint32_t records);

#endif
