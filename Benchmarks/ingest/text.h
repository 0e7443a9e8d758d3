#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Characters in a pattern that are replaced in each record: with a decimal digit, a
   hexadecimal digit, and a character of the time. */
#define DIGIT "\001"
#define HEX "\002"
#define TIME "\003"

enum { DIGIT_PLACEHOLDER = 1, HEX_PLACEHOLDER = 2, TIME_PLACEHOLDER = 3 };

enum { MAX_PLACEHOLDERS = 12, TIME_WIDTH = 24 };

/* A part of a text that is replaced in each record. */
struct placeholder {
    uint16_t offset;
    uint8_t width;
    uint8_t kind;
};

/* A text that is parsed once. `write_text` copies it and replaces the placeholders. */
struct text {
    char *bytes;
    uint32_t length;
    uint32_t placeholder_count;
    struct placeholder placeholders[MAX_PLACEHOLDERS];
};

/* A small and fast generator of random numbers (SplitMix64). Equal seeds give equal
   numbers on each machine. */
struct randomness {
    uint64_t state;
};

static inline uint64_t next_random(struct randomness *randomness) {
    uint64_t number = randomness->state += 0x9E3779B97F4A7C15u;
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
    number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
    return number ^ (number >> 31);
}

/* Makes a text from a pattern. */
struct text text_from(const char *pattern);

/* Writes a text with random digits and with a time of TIME_WIDTH characters (NULL if
   the text has no placeholder for one). Returns the end of the text. */
char *write_text(char *output, const struct text *text, const char *time, struct randomness *randomness);

/* Writes a time in the format of RFC 3339, without a final NUL. */
void write_time(char output[TIME_WIDTH], int64_t milliseconds);

#endif
