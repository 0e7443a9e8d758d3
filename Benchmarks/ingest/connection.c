#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "failure.h"
#include "reply.h"
#include "stopwatch.h"

#define HEAD "{\"method\":\"org.issued.Collector.Report\",\"parameters\":{\"records\":["
#define TAIL "]}}"

/* OUTPUT_CAPACITY and INPUT_CAPACITY are suitable sizes for one system call. */
enum { OUTPUT_CAPACITY = 128 << 10, INPUT_CAPACITY = 256 << 10, TAIL_CAPACITY = 128 };

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL) fail("out of memory for a connection");
    return memory;
}

/* Makes the text that follows the records of a numbered call, up to the number.
   The producer is a new UUID; with an old one, the records would be duplicates. */
static void name_producer(struct connection *connection) {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) fail("getrandom failed");
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    char *position = connection->numbered_tail;
    position += sprintf(position, "],\"producer\":\"");
    for (int index = 0; index < 16; index++) {
        bool has_dash = index == 4 || index == 6 || index == 8 || index == 10;
        position += sprintf(position, has_dash ? "-%02x" : "%02x", bytes[index]);
    }
    position += sprintf(position, "\",\"sequence\":");
    connection->numbered_tail_length = (size_t)(position - connection->numbered_tail);
}

static char *write_number(char *output, uint64_t number) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) *output++ = digits[--count];
    return output;
}

void connection_open(struct connection *connection, const char *path, uint32_t window, const struct load *load) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail("%s: the path is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path));
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("%s: %s", path, strerror(errno));
    }
    size_t record = longest_record(&load->traffic) + 1;
    *connection = (struct connection){
        .descriptor = descriptor,
        .window = window < load->records_per_call ? load->records_per_call : window,
        .longest_call = sizeof HEAD + load->records_per_call * record + TAIL_CAPACITY,
        .input_capacity = INPUT_CAPACITY,
    };
    connection->output_capacity = OUTPUT_CAPACITY + connection->longest_call;
    connection->output = allocate(connection->output_capacity);
    connection->input = allocate(connection->input_capacity);
    connection->call_capacity = connection->window;
    connection->calls = allocate(connection->call_capacity * sizeof *connection->calls);
    name_producer(connection);
}

bool connection_can_send(const struct connection *connection, const struct load *load) {
    if (connection->prepared != NULL) {
        return connection->next_prepared < connection->prepared_count
            && connection->output_end - connection->output_start < OUTPUT_CAPACITY
            && connection->in_flight + connection->prepared[connection->next_prepared].records <= connection->window;
    }
    return load->unsent > 0 && connection->in_flight + next_call_size(load) <= connection->window
        && connection->output_end + connection->longest_call <= connection->output_capacity;
}

static uint32_t series_to_send(struct load *load) {
    if (load->sent_series < load->traffic.series_count) return load->sent_series++;
    return next_series(&load->traffic);
}

/* Writes a call and returns its end. */
static char *write_call(struct connection *connection, struct load *load, uint32_t records, char *position) {
    memcpy(position, HEAD, sizeof HEAD - 1);
    position += sizeof HEAD - 1;
    for (uint32_t index = 0; index < records; index++) {
        const struct series *series = &load->traffic.series[series_to_send(load)];
        if (index > 0) *position++ = ',';
        position = write_text(position, &series->record, load->time, &load->traffic.randomness);
    }
    if (load->is_numbered) {
        memcpy(position, connection->numbered_tail, connection->numbered_tail_length);
        position = write_number(position + connection->numbered_tail_length, connection->sequence);
        memcpy(position, "}}", 2);
        position += 2;
        connection->sequence += records;
    } else {
        memcpy(position, TAIL, sizeof TAIL - 1);
        position += sizeof TAIL - 1;
    }
    *position++ = '\0';
    return position;
}

void connection_prepare(struct connection *connection, struct load *load, uint64_t records) {
    size_t calls = (size_t)((records + load->records_per_call - 1) / load->records_per_call);
    size_t capacity = (calls + 1) * connection->longest_call;
    connection->prepared = allocate((calls + 1) * sizeof *connection->prepared);
    free(connection->output);
    connection->output = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (connection->output == MAP_FAILED) fail("out of memory for the calls");
    // Huge pages save TLB misses: each byte is read only once.
    madvise(connection->output, capacity, MADV_HUGEPAGE);
    char *position = connection->output;
    for (size_t index = 0; index < calls; index++) {
        uint32_t call_records = records < load->records_per_call ? (uint32_t)records : load->records_per_call;
        position = write_call(connection, load, call_records, position);
        connection->prepared[index] = (struct prepared_call){(size_t)(position - connection->output), call_records};
        records -= call_records;
    }
    connection->prepared_count = calls;
}

void connection_compose(struct connection *connection, struct load *load, int64_t started) {
    uint32_t records;
    if (connection->prepared != NULL) {
        const struct prepared_call *call = &connection->prepared[connection->next_prepared++];
        records = call->records;
        connection->output_end = call->end;
    } else {
        records = next_call_size(load);
        char *end = write_call(connection, load, records, connection->output + connection->output_end);
        connection->output_end = (size_t)(end - connection->output);
    }

    uint32_t slot = connection->first_call + connection->call_count++;
    if (slot >= connection->call_capacity) slot -= connection->call_capacity;
    connection->calls[slot] = (struct call){started, records};
    connection->in_flight += records;
    load->in_flight += records;
    load->unsent -= records;
}

void connection_flush(struct connection *connection, struct load *load) {
    while (connection->output_start < connection->output_end) {
        ssize_t sent = send(
            connection->descriptor, connection->output + connection->output_start,
            connection->output_end - connection->output_start, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            connection->is_blocked = true;
            return;
        }
        if (sent < 0) fail("sending: %s", strerror(errno));
        connection->output_start += (size_t)sent;
        load->bytes_sent += (uint64_t)sent;
    }
    if (connection->prepared == NULL) connection->output_start = connection->output_end = 0;
    connection->is_blocked = false;
}

static void handle_reply(
    struct connection *connection, struct load *load, const char *bytes, size_t length, int64_t now) {
    if (connection->call_count == 0) fail("unexpected reply: %.200s", bytes);
    struct call call = connection->calls[connection->first_call];
    if (++connection->first_call == connection->call_capacity) connection->first_call = 0;
    connection->call_count--;
    connection->in_flight -= call.records;
    load->in_flight -= call.records;

    struct reply reply = read_reply(bytes, length, call.records);
    if (reply.stored != call.records && load->first_refusal[0] == '\0') {
        snprintf(load->first_refusal, sizeof load->first_refusal, "%s", bytes);
    }
    if (reply.stored + reply.rejected + reply.duplicates != call.records) {
        load->refused += call.records;
        return;
    }
    load->stored += reply.stored;
    load->rejected += reply.rejected;
    load->duplicates += reply.duplicates;
    histogram_add(&load->latency, now - call.started, call.records);
}

void connection_receive(struct connection *connection, struct load *load) {
    for (;;) {
        size_t space = connection->input_capacity - connection->input_length;
        if (space == 0) fail("a reply is longer than %zu bytes", connection->input_capacity);
        char *unread = connection->input + connection->input_length;
        ssize_t received = recv(connection->descriptor, unread, space, MSG_DONTWAIT);
        if (received < 0 && errno == EINTR) continue;
        if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (received < 0) fail("receiving: %s", strerror(errno));
        if (received == 0) fail("the daemon has closed a connection");
        int64_t now = monotonic_now();

        char *position = connection->input, *end = unread + received;
        for (char *nul; (nul = memchr(unread, '\0', (size_t)(end - unread))) != NULL; position = unread = nul + 1) {
            handle_reply(connection, load, position, (size_t)(nul - position), now);
        }
        connection->input_length = (size_t)(end - position);
        memmove(connection->input, position, connection->input_length);
        // A short read means that the socket is empty.
        if ((size_t)received < space) return;
    }
}
