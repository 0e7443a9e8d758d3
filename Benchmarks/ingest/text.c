#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "failure.h"

/* Two characters for each value of a byte, so that one lookup turns eight random bits
   into two digits. */
static char pairs[3][256][2];

static void make_pairs(void) {
    for (int byte = 0; byte < 256; byte++) {
        pairs[DIGIT_PLACEHOLDER][byte][0] = (char)('0' + byte / 10 % 10);
        pairs[DIGIT_PLACEHOLDER][byte][1] = (char)('0' + byte % 10);
        pairs[HEX_PLACEHOLDER][byte][0] = "0123456789abcdef"[byte >> 4];
        pairs[HEX_PLACEHOLDER][byte][1] = "0123456789abcdef"[byte & 15];
    }
}

struct text text_from(const char *pattern) {
    if (pairs[DIGIT_PLACEHOLDER][0][0] == 0) make_pairs();
    struct text text = {.bytes = strdup(pattern), .length = (uint32_t)strlen(pattern)};
    if (text.bytes == NULL) fail("out of memory for the texts");
    for (uint32_t index = 0; index < text.length;) {
        char kind = pattern[index];
        uint32_t end = index + 1;
        if (kind >= DIGIT_PLACEHOLDER && kind <= TIME_PLACEHOLDER) {
            while (pattern[end] == kind) end++;
            if (text.placeholder_count == MAX_PLACEHOLDERS) fail("a text has too many placeholders: %s", pattern);
            if (end - index > (kind == TIME_PLACEHOLDER ? TIME_WIDTH : 16)) {
                fail("a placeholder is too wide: %s", pattern);
            }
            text.placeholders[text.placeholder_count++] =
                (struct placeholder){(uint16_t)index, (uint8_t)(end - index), (uint8_t)kind};
        }
        index = end;
    }
    return text;
}

char *write_text(char *output, const struct text *text, const char *time, struct randomness *randomness) {
    memcpy(output, text->bytes, text->length);
    for (uint32_t index = 0; index < text->placeholder_count; index++) {
        const struct placeholder *placeholder = &text->placeholders[index];
        char *position = output + placeholder->offset;
        if (placeholder->kind == TIME_PLACEHOLDER) {
            memcpy(position, time, TIME_WIDTH);
            continue;
        }
        uint64_t random = next_random(randomness);
        int width = placeholder->width;
        for (; width >= 2; width -= 2, position += 2, random >>= 8) {
            memcpy(position, pairs[placeholder->kind][random & 0xFF], 2);
        }
        if (width == 1) *position = pairs[placeholder->kind][random & 0xFF][1];
    }
    return output + text->length;
}

void write_time(char output[TIME_WIDTH], int64_t milliseconds) {
    time_t seconds = (time_t)(milliseconds / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    char text[64];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + 19, sizeof text - 19, ".%03dZ", (int)(milliseconds % 1000));
    memcpy(output, text, TIME_WIDTH);
}
