#include "block.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "failure.h"

enum { VERSION = 1, COLUMNS = 11, SEPARATOR = 0x1F, NUMBER_BYTES = 10 };

/* The size of the texts of the largest block, and the maximum decoded size of a block of the daemon. */
enum { TEXT_CAPACITY = BLOCK_RECORDS * (PARTS_CAPACITY + METADATA_CAPACITY), DECODED_CAPACITY = 1 << 24 };
enum { HEAD_CAPACITY = (BLOCK_RECORDS + 2) * NUMBER_BYTES * COLUMNS + METADATA_CAPACITY };

static unsigned char *append_number(unsigned char *output, uint64_t number) {
    for (; number >= 0x80; number >>= 7) *output++ = (unsigned char)(number | 0x80);
    *output++ = (unsigned char)number;
    return output;
}

static uint64_t zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Encoding */

static unsigned char *append_column(unsigned char *output, const int64_t *values, uint32_t count) {
    int64_t low = values[0], high = values[0];
    for (uint32_t index = 1; index < count; index++) {
        if (values[index] < low) low = values[index];
        if (values[index] > high) high = values[index];
    }
    *output++ = low != high;
    output = append_number(output, zigzag(low));
    if (low == high) return output;
    for (uint32_t index = 0; index < count; index++) output = append_number(output, (uint64_t)(values[index] - low));
    return output;
}

/* The offsets of the values in the metadata of this traffic. They are the same in each record. */
struct values {
    uint32_t count;
    uint32_t start[16];
    uint32_t end[16];
};

/* Finds the top-level values of a JSON object without nested values. */
static struct values values_of(const char *json, uint32_t length) {
    struct values values = {0};
    bool in_string = false;
    for (uint32_t index = 1; index < length; index++) {
        char character = json[index];
        if (character == '"') in_string = !in_string;
        if (in_string) continue;
        if (character == ':') values.start[values.count] = index + 1;
        if (character == ',' || character == '}') values.end[values.count++] = index;
    }
    return values;
}

static unsigned char *append_shape(unsigned char *output, const char *json, uint32_t length, const struct values *values) {
    unsigned char shape[METADATA_CAPACITY], *end = shape;
    uint32_t copied = 0;
    for (uint32_t index = 0; index < values->count; index++) {
        memcpy(end, json + copied, values->start[index] - copied);
        end += values->start[index] - copied;
        *end++ = SEPARATOR;
        copied = values->end[index];
    }
    memcpy(end, json + copied, length - copied);
    end += length - copied;
    output = append_number(output, (uint64_t)(end - shape));
    memcpy(output, shape, (size_t)(end - shape));
    return output + (end - shape);
}

/* Compresses bytes to `output`; if that saves nothing, copies them. */
static size_t store_compressed(unsigned char *output, const unsigned char *input, size_t length) {
    int size = LZ4_compress_default(
        (const char *)input, (char *)output, (int)length, LZ4_compressBound((int)length));
    if (size > 0 && (size_t)size < length) return (size_t)size;
    memcpy(output, input, length);
    return length;
}

struct bytes encode_block(const struct row *rows, uint32_t count, int64_t received_at) {
    static unsigned char text[TEXT_CAPACITY], head[HEAD_CAPACITY];
    static unsigned char body[LZ4_COMPRESSBOUND(TEXT_CAPACITY) + LZ4_COMPRESSBOUND(HEAD_CAPACITY) + 5 * NUMBER_BYTES];
    static unsigned char stored[sizeof body];
    struct values values = values_of(rows[0].metadata, rows[0].metadata_length);
    int64_t columns[COLUMNS][BLOCK_RECORDS];

    unsigned char *end = text;
    for (uint32_t index = 0; index < count; index++) {
        memcpy(end, rows[index].parts, rows[index].parts_length);
        end += rows[index].parts_length;
    }
    for (uint32_t index = 0; index < count; index++) {
        const struct row *row = &rows[index];
        const unsigned char *start = end;
        for (uint32_t value = 0; value < values.count; value++) {
            if (value > 0) *end++ = SEPARATOR;
            memcpy(end, row->metadata + values.start[value], values.end[value] - values.start[value]);
            end += values.end[value] - values.start[value];
        }
        columns[0][index] = 0;
        columns[1][index] = row->series;
        columns[2][index] = row->process;
        columns[3][index] = received_at;
        columns[4][index] = (int64_t)zigzag(row->occurred) + 1;
        columns[5][index] = 0;
        columns[6][index] = row->count;
        columns[7][index] = 1 + 2 * (int64_t)row->parts_length;
        columns[8][index] = 1 + (end - start);
        columns[9][index] = 1;
        columns[10][index] = 0;
    }
    size_t text_length = (size_t)(end - text);

    end = head;
    for (int column = 0; column < COLUMNS; column++) end = append_column(end, columns[column], count);
    end = append_number(end, 1);
    end = append_shape(end, rows[0].metadata, rows[0].metadata_length, &values);
    size_t head_length = (size_t)(end - head);

    size_t head_stored = store_compressed(stored, head, head_length);
    size_t text_stored = store_compressed(stored + head_stored, text, text_length);
    end = body;
    *end++ = VERSION;
    end = append_number(end, head_length);
    end = append_number(end, head_stored);
    end = append_number(end, text_length);
    end = append_number(end, text_stored);
    memcpy(end, stored, head_stored + text_stored);
    return (struct bytes){body, (size_t)(end - body) + head_stored + text_stored};
}

int64_t block_checksum(struct block_id id, struct bytes body) {
    unsigned char header[24];
    const int64_t numbers[] = {id.first_id, id.last_id, id.records};
    for (int index = 0; index < 24; index++) header[index] = (unsigned char)(numbers[index / 8] >> (index % 8 * 8));
    return (int64_t)crc32_z(crc32_z(0, header, sizeof header), body.start, body.length);
}

/* Decoding */

struct input {
    const unsigned char *next, *end;
    int64_t block;
};

static unsigned char take_byte(struct input *input) {
    if (input->next == input->end) fail("the block %lld is too short", (long long)input->block);
    return *input->next++;
}

static uint64_t take_number(struct input *input) {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned char byte = take_byte(input);
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return number;
    }
    fail("a number in the block %lld is too long", (long long)input->block);
}

static void take_column(struct input *input, int64_t *values, int64_t count) {
    unsigned char kind = take_byte(input);
    uint64_t base = take_number(input);
    int64_t low = (int64_t)(base >> 1 ^ -(base & 1));
    for (int64_t index = 0; index < count; index++) {
        values[index] = kind == 0 ? low : low + (int64_t)take_number(input);
    }
}

const struct record_head *decode_block(struct block_id id, int64_t checksum, struct bytes body) {
    static struct record_head *records;
    static int64_t *values;
    static unsigned char *decoded;
    enum { CAPACITY = 4096 };
    if (records == NULL) {
        records = malloc(CAPACITY * sizeof *records);
        values = malloc(CAPACITY * sizeof *values);
        decoded = malloc(DECODED_CAPACITY);
        if (records == NULL || values == NULL || decoded == NULL) fail("out of memory for a block");
    }
    struct input input = {body.start, body.start + body.length, id.first_id};
    if (id.records < 1 || id.records > CAPACITY || checksum != block_checksum(id, body)) {
        fail("the block %lld is damaged", (long long)id.first_id);
    }
    if (take_byte(&input) != VERSION) fail("the block %lld has an unknown version", (long long)id.first_id);
    uint64_t head_length = take_number(&input), head_stored = take_number(&input);
    uint64_t text_length = take_number(&input), text_stored = take_number(&input);
    if (head_stored + text_stored != (uint64_t)(input.end - input.next) || head_length > DECODED_CAPACITY ||
        text_length > DECODED_CAPACITY) {
        fail("the block %lld has wrong sizes", (long long)id.first_id);
    }
    const unsigned char *text = input.next + head_stored;
    if (text_stored != text_length &&
        LZ4_decompress_safe((const char *)text, (char *)decoded, (int)text_stored, DECODED_CAPACITY) !=
            (int)text_length) {
        fail("the text of the block %lld is damaged", (long long)id.first_id);
    }
    struct input head = {input.next, input.next + head_stored, id.first_id};
    if (head_stored != head_length) {
        int size = LZ4_decompress_safe((const char *)head.next, (char *)decoded, (int)head_stored, DECODED_CAPACITY);
        if (size != (int)head_length) fail("the head of the block %lld is damaged", (long long)id.first_id);
        head.next = decoded;
        head.end = decoded + size;
    }
    take_column(&head, values, id.records);
    int64_t next = id.first_id;
    for (int64_t index = 0; index < id.records; index++) {
        next += values[index];
        records[index].id = next++;
    }
    if (next - 1 > id.last_id) fail("the block %lld has ids above its last one", (long long)id.first_id);
    take_column(&head, values, id.records);
    for (int64_t index = 0; index < id.records; index++) records[index].series = values[index];
    return records;
}
