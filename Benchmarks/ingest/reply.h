#ifndef REPLY_H
#define REPLY_H

#include <stddef.h>
#include <stdint.h>

/* The receipts in a reply to a call, counted by kind. */
struct reply {
    uint32_t stored;
    uint32_t rejected;
    uint32_t duplicates;
};

/* Reads a reply, without its NUL, to a call with `records` records. All counts are 0 if
   the reply is an error. */
struct reply read_reply(const char *bytes, size_t length, uint32_t records);

#endif
