/* Reports records to an issue daemon, as fast as it replies or at a fixed rate,
   and prints the rate and the latency as JSON. See the README. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include "connection.h"
#include "failure.h"
#include "stopwatch.h"

struct options {
    const char *socket;
    const char *distribution;
    uint32_t connections;
    uint32_t window;
    uint32_t records_per_call;
    uint32_t series;
    uint64_t records;
    uint64_t warm_up;
    uint64_t seed;
    double rate;
    int timeout;
    bool is_numbered;
};

struct generator {
    struct load load;
    struct connection *connections;
    uint32_t connection_count;
    int epoll;
    int timeout_milliseconds;
    /* The index of the connection that sends the next call at a fixed rate. */
    uint32_t next_connection;
};

static const char usage[] =
    "usage: generate --socket PATH [--records N] [--call N] [--connections N] [--window N]\n"
    "                [--series N] [--distribution zipf|uniform] [--seed N] [--warm-up N]\n"
    "                [--rate RECORDS-PER-SECOND] [--producer] [--timeout SECONDS]\n";

static uint64_t number(const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text < '0' || *text > '9') fail("%s is not a number\n%s", text, usage);
    return value;
}

static uint32_t count(const char *text, uint32_t maximum) {
    uint64_t value = number(text);
    if (value == 0 || value > maximum) fail("%s is not between 1 and %u", text, maximum);
    return (uint32_t)value;
}

static struct options read_options(int argument_count, char **arguments) {
    static const struct option known[] = {
        {"socket", required_argument, NULL, 's'},   {"records", required_argument, NULL, 'n'},
        {"call", required_argument, NULL, 'r'},     {"connections", required_argument, NULL, 'c'},
        {"window", required_argument, NULL, 'w'},   {"series", required_argument, NULL, 'k'},
        {"rate", required_argument, NULL, 'q'},     {"distribution", required_argument, NULL, 'd'},
        {"seed", required_argument, NULL, 'x'},     {"warm-up", required_argument, NULL, 'u'},
        {"timeout", required_argument, NULL, 't'},  {"producer", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    struct options options = {
        .distribution = "zipf", .connections = 4, .window = 16000, .records_per_call = 1, .series = 300,
        .records = 1000000, .seed = 1, .timeout = 30,
    };
    for (int option; (option = getopt_long(argument_count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 's': options.socket = optarg; break;
        case 'n': options.records = number(optarg); break;
        case 'r': options.records_per_call = count(optarg, 1000); break;
        case 'c': options.connections = count(optarg, 4096); break;
        case 'w': options.window = count(optarg, 10000000); break;
        case 'k': options.series = count(optarg, MAX_SERIES); break;
        case 'q': options.rate = (double)number(optarg); break;
        case 'd': options.distribution = optarg; break;
        case 'x': options.seed = number(optarg); break;
        case 'u': options.warm_up = number(optarg); break;
        case 't': options.timeout = (int)count(optarg, 3600); break;
        case 'p': options.is_numbered = true; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: fputs(usage, stderr); exit(64);
        }
    }
    if (options.socket == NULL || optind != argument_count) {
        fputs(usage, stderr);
        exit(64);
    }
    return options;
}

static void open_connections(struct generator *generator, const struct options *options) {
    generator->epoll = epoll_create1(EPOLL_CLOEXEC);
    generator->connections = calloc(options->connections, sizeof *generator->connections);
    if (generator->epoll < 0 || generator->connections == NULL) fail("epoll: %s", strerror(errno));
    generator->connection_count = options->connections;
    for (uint32_t index = 0; index < options->connections; index++) {
        struct connection *connection = &generator->connections[index];
        connection_open(connection, options->socket, options->window / options->connections, &generator->load);
        // Edge-triggered: the connection itself remembers whether it can read or write.
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
        if (epoll_ctl(generator->epoll, EPOLL_CTL_ADD, connection->descriptor, &event) != 0) {
            fail("epoll: %s", strerror(errno));
        }
    }
}

static void update_time(struct load *load) {
    int64_t milliseconds = nanoseconds_of(CLOCK_REALTIME) / 1000000;
    if (milliseconds == load->time_milliseconds) return;
    load->time_milliseconds = milliseconds;
    write_time(load->time, milliseconds);
}

/* Sends calls until the window of the connection is full. */
static void send_all(struct connection *connection, struct load *load) {
    connection_flush(connection, load);
    while (!connection->is_blocked && connection_can_send(connection, load)) {
        update_time(load);
        int64_t now = monotonic_now();
        while (connection_can_send(connection, load)) connection_compose(connection, load, now);
        connection_flush(connection, load);
    }
}

/* Sends the calls that are due, on each connection in turn. A call that does not fit
   into any window waits; its latency is still measured from the time at which it was due. */
static void send_due(struct generator *generator, int64_t *due, double interval) {
    struct load *load = &generator->load;
    int64_t now = monotonic_now();
    update_time(load);
    for (uint32_t tried = 0; *due <= now && load->unsent > 0 && tried < generator->connection_count;) {
        struct connection *connection = &generator->connections[generator->next_connection];
        generator->next_connection = (generator->next_connection + 1) % generator->connection_count;
        if (!connection_can_send(connection, load)) {
            tried++;
            continue;
        }
        tried = 0;
        int64_t step = (int64_t)(interval * next_call_size(load));
        connection_compose(connection, load, *due);
        connection_flush(connection, load);
        *due += step;
    }
}

static int wait_for_events(struct generator *generator, struct epoll_event *events, int capacity, int64_t nanoseconds) {
    struct timespec timeout = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int ready = epoll_pwait2(generator->epoll, events, capacity, &timeout, NULL);
    if (ready < 0 && errno != EINTR) fail("epoll: %s", strerror(errno));
    return ready < 0 ? 0 : ready;
}

/* Prepares the calls for a run without a fixed rate, if they fit into memory. */
static void prepare(struct generator *generator, uint64_t records) {
    enum { MAX_PREPARED = 4000000 };
    struct load *load = &generator->load;
    if (records > MAX_PREPARED) return;
    update_time(load);
    // Each connection gets an equal share of whole calls. Only the very last call may have fewer records.
    uint64_t calls = (records + load->records_per_call - 1) / load->records_per_call;
    for (uint32_t index = 0; index < generator->connection_count; index++) {
        uint64_t left = generator->connection_count - index;
        uint64_t share = (calls + left - 1) / left * load->records_per_call;
        if (share > records) share = records;
        connection_prepare(&generator->connections[index], load, share);
        calls -= (share + load->records_per_call - 1) / load->records_per_call;
        records -= share;
    }
}

/* Sends `records` records and waits for all receipts. `interval` is the time between
   two records in nanoseconds; with 0 they are sent as fast as the windows allow. */
static void run(struct generator *generator, uint64_t records, double interval) {
    struct load *load = &generator->load;
    load->unsent = records;
    int64_t max_wait = (int64_t)generator->timeout_milliseconds * 1000000;
    int64_t due = monotonic_now(), last_answer = due;
    if (interval == 0) {
        for (uint32_t index = 0; index < generator->connection_count; index++) {
            send_all(&generator->connections[index], load);
        }
    }
    while (load->unsent + load->in_flight > 0) {
        int64_t wait = max_wait;
        if (interval > 0) {
            send_due(generator, &due, interval);
            int64_t left = due - monotonic_now();
            if (load->unsent > 0) wait = left > 0 ? left : 1000000;
        }
        struct epoll_event events[64];
        int ready = wait_for_events(generator, events, 64, wait);
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            uint64_t before = load->in_flight;
            connection_receive(connection, load);
            if (load->in_flight < before) last_answer = monotonic_now();
            if (interval == 0) send_all(connection, load);
            else connection_flush(connection, load);
        }
        if (ready == 0 && load->in_flight > 0 && monotonic_now() - last_answer > max_wait) {
            fail("no receipt for %d seconds; %llu records are in flight", generator->timeout_milliseconds / 1000,
                 (unsigned long long)load->in_flight);
        }
    }
}

static void print_report(
    const struct load *load, const struct options *options, struct stopwatch watch, uint64_t stored_before) {
    uint64_t stored = load->stored - stored_before;
    printf("{\"records\":%llu,\"seconds\":%.6f,\"records_per_second\":%.0f,", (unsigned long long)stored,
           in_seconds(watch.wall), (double)stored / in_seconds(watch.wall));
    printf("\"cpu_seconds\":%.6f,\"bytes_sent_per_record\":%.1f,", in_seconds(watch.processor),
           (double)load->bytes_sent / (double)options->records);
    printf("\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,", histogram_milliseconds(&load->latency, 0.5),
           histogram_milliseconds(&load->latency, 0.99), histogram_milliseconds(&load->latency, 1));
    printf("\"stored_total\":%llu,\"rejected\":%llu,\"duplicates\":%llu,\"refused\":%llu}\n",
           (unsigned long long)load->stored, (unsigned long long)load->rejected, (unsigned long long)load->duplicates,
           (unsigned long long)load->refused);
}

int main(int argument_count, char **arguments) {
    struct options options = read_options(argument_count, arguments);
    // The default timer slack of 50 microseconds would count as latency.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    static struct generator generator;
    struct load *load = &generator.load;
    load->traffic = make_traffic(options.series, options.distribution, options.seed);
    load->records_per_call = options.records_per_call;
    load->is_numbered = options.is_numbered;
    generator.timeout_milliseconds = options.timeout * 1000;
    open_connections(&generator, &options);

    // Not measured: each series once, then the warm-up.
    run(&generator, options.series + options.warm_up, 0);
    uint64_t stored_before = load->stored;
    load->latency = (struct histogram){0};
    load->bytes_sent = 0;
    if (options.rate == 0) prepare(&generator, options.records);

    struct stopwatch watch = {0};
    stopwatch_start(&watch);
    run(&generator, options.records, options.rate > 0 ? 1e9 / options.rate : 0);
    stopwatch_stop(&watch);
    print_report(load, &options, watch, stored_before);
    if (load->refused + load->rejected + load->duplicates > 0) {
        fail("not all records were stored; the first such reply: %s", load->first_refusal);
    }
    return 0;
}
