/* Acts as a hostile user: sends one message repeatedly over many connections, or
   sends only a part of it, or only keeps the connections open. Prints the result as
   JSON. See the README. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../ingest/failure.h"
#include "../ingest/stopwatch.h"

/* A closed connection is reopened after this time. */
static const int64_t pause_nanoseconds = 10000000;

struct options {
    const char *socket;
    const char *message;
    uint32_t connections;
    uint64_t times;
    bool hangs_up;
    bool is_unfinished;
    bool varies;
};

struct connection {
    /* Negative while the connection is closed. */
    int descriptor;
    size_t sent;
    int64_t opens_at;
    bool has_error;
};

struct sender {
    struct options options;
    char *message;
    size_t length;
    /* The offsets of the placeholders, and a counter for their replacements. */
    size_t *placeholders;
    size_t placeholder_count;
    uint64_t variations;
    struct sockaddr_un address;
    int epoll;
    struct connection *connections;
    uint64_t calls, answers, errors, closed;
    char first_error[160];
};

static const char usage[] =
    "usage: hostile --socket PATH [--message FILE] [--connections N] [--times N] [--hang-up] [--unfinished]\n"
    "               [--vary]\n"
    "\n"
    "  --message FILE   the message that each connection sends, without the final NUL; default: none\n"
    "  --times N        stop after N replies, instead of at SIGTERM\n"
    "  --hang-up        close the connection after sending the message, without waiting for the reply\n"
    "  --unfinished     omit the final NUL and wait\n"
    "  --vary           replace each @@@@@@@@ with eight letters that differ each time the message is sent\n";

static volatile sig_atomic_t is_ending;

static void end(int signal) {
    (void)signal;
    is_ending = 1;
}

static uint64_t number(const char *text) {
    char *rest;
    errno = 0;
    unsigned long long value = strtoull(text, &rest, 10);
    if (errno != 0 || *rest != '\0' || *text < '0' || *text > '9') fail("%s is not a number\n%s", text, usage);
    return value;
}

static struct options read_options(int argument_count, char **arguments) {
    static const struct option known[] = {
        {"socket", required_argument, NULL, 's'}, {"message", required_argument, NULL, 'm'},
        {"connections", required_argument, NULL, 'c'}, {"times", required_argument, NULL, 'n'},
        {"hang-up", no_argument, NULL, 'h'}, {"unfinished", no_argument, NULL, 'u'}, {"vary", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.connections = 1};
    for (int option; (option = getopt_long(argument_count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 's': options.socket = optarg; break;
        case 'm': options.message = optarg; break;
        case 'c': options.connections = (uint32_t)number(optarg); break;
        case 'n': options.times = number(optarg); break;
        case 'h': options.hangs_up = true; break;
        case 'u': options.is_unfinished = true; break;
        case 'v': options.varies = true; break;
        default: fputs(usage, stderr); exit(64);
        }
    }
    if (options.socket == NULL || optind != argument_count || options.connections == 0) {
        fputs(usage, stderr);
        exit(64);
    }
    return options;
}

static void read_message(struct sender *sender) {
    if (sender->options.message == NULL) return;
    FILE *file = fopen(sender->options.message, "rb");
    if (file == NULL) fail("%s: %s", sender->options.message, strerror(errno));
    enum { MAX_LENGTH = 16 << 20 };
    sender->message = malloc(MAX_LENGTH + 1);
    if (sender->message == NULL) fail("out of memory for the message");
    sender->length = fread(sender->message, 1, MAX_LENGTH, file);
    fclose(file);
    if (!sender->options.is_unfinished) sender->message[sender->length++] = '\0';
}

enum { LETTERS = 8 };

/* Finds the placeholders in the message. */
static void find_placeholders(struct sender *sender) {
    static const char mark[] = "@@@@@@@@";
    if (!sender->options.varies) return;
    sender->placeholders = malloc((sender->length / LETTERS + 1) * sizeof *sender->placeholders);
    if (sender->placeholders == NULL) fail("out of memory for the placeholders");
    const char *end = sender->message + sender->length;
    for (char *at = sender->message; (at = memmem(at, (size_t)(end - at), mark, LETTERS)) != NULL; at += LETTERS) {
        sender->placeholders[sender->placeholder_count++] = (size_t)(at - sender->message);
    }
    if (sender->placeholder_count == 0) fail("--vary: the message has no @@@@@@@@");
}

/* Replaces the placeholders with new letters. A connection that has sent only a part of
   the message continues with the new letters, which is not a problem. */
static void vary(struct sender *sender) {
    for (size_t index = 0; index < sender->placeholder_count; index++) {
        uint64_t rest = sender->variations++;
        for (size_t letter = LETTERS; letter-- > 0; rest /= 26) {
            sender->message[sender->placeholders[index] + letter] = (char)('a' + rest % 26);
        }
    }
}

static void close_connection(struct connection *connection, int64_t now) {
    if (connection->descriptor >= 0) close(connection->descriptor);
    *connection = (struct connection){.descriptor = -1, .opens_at = now + pause_nanoseconds};
}

static void open_connection(struct sender *sender, struct connection *connection, int64_t now) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) fail("socket: %s", strerror(errno));
    *connection = (struct connection){.descriptor = descriptor};
    if (connect(descriptor, (struct sockaddr *)&sender->address, sizeof sender->address) != 0) {
        close_connection(connection, now);
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
    if (epoll_ctl(sender->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) fail("epoll: %s", strerror(errno));
}

/* Sends the rest of the message, as far as the kernel accepts it. */
static void send_rest(struct sender *sender, struct connection *connection, int64_t now) {
    while (connection->descriptor >= 0 && connection->sent < sender->length) {
        if (connection->sent == 0) vary(sender);
        ssize_t count = send(
            connection->descriptor, sender->message + connection->sent, sender->length - connection->sent,
            MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) {
            sender->closed++;
            close_connection(connection, now);
            return;
        }
        connection->sent += (size_t)count;
        if (connection->sent == sender->length && !sender->options.is_unfinished) {
            sender->calls++;
            if (sender->options.hangs_up) close_connection(connection, now);
        }
    }
}

static bool has(const char *input, ssize_t count, const char *text) {
    return memmem(input, (size_t)count, text, strlen(text)) != NULL;
}

/* Saves the beginning of a reply with an error, in a form that fits into a JSON string. */
static void keep_error(struct sender *sender, const char *input, size_t count) {
    size_t length = 0;
    while (length < count && length + 1 < sizeof sender->first_error && input[length] != '\0') {
        char byte = input[length];
        sender->first_error[length++] = byte < ' ' || byte > '~' || byte == '\\' ? '?' : byte == '"' ? '\'' : byte;
    }
}

/* Reads the replies. Each ends with a NUL, and the message is then sent again. */
static void receive(struct sender *sender, struct connection *connection, int64_t now) {
    static char input[256 << 10];
    while (connection->descriptor >= 0) {
        ssize_t count = recv(connection->descriptor, input, sizeof input, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) {
            sender->closed++;
            close_connection(connection, now);
            return;
        }
        if (has(input, count, "{\"error\":") || has(input, count, "\"rejected\":{")) {
            connection->has_error = true;
            if (sender->errors == 0) keep_error(sender, input, (size_t)count);
        }
        // In a stream of replies, the message is sent again only after the last reply.
        if (memchr(input, '\0', (size_t)count) == NULL || has(input, count, "\"continues\":true")) continue;
        sender->answers++;
        if (connection->has_error) sender->errors++;
        connection->has_error = false;
        if (connection->sent == sender->length) connection->sent = 0;
        if (sender->options.times > 0 && sender->answers >= sender->options.times) return;
        send_rest(sender, connection, now);
    }
}

static void run(struct sender *sender) {
    uint32_t count = sender->options.connections;
    bool is_ready = false;
    while (!is_ending && (sender->options.times == 0 || sender->answers < sender->options.times)) {
        int64_t now = monotonic_now();
        for (uint32_t index = 0; index < count; index++) {
            struct connection *connection = &sender->connections[index];
            if (connection->descriptor < 0 && connection->opens_at <= now) open_connection(sender, connection, now);
        }
        if (!is_ready) {
            // By now, each connection has been attempted once.
            puts("ready");
            fflush(stdout);
            is_ready = true;
        }
        struct epoll_event events[256];
        int ready = epoll_wait(sender->epoll, events, 256, 10);
        if (ready < 0 && errno != EINTR) fail("epoll: %s", strerror(errno));
        now = monotonic_now();
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            if (events[index].events & EPOLLOUT) send_rest(sender, connection, now);
            if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(sender, connection, now);
        }
    }
}

int main(int argument_count, char **arguments) {
    struct sender sender = {.options = read_options(argument_count, arguments)};
    sender.address.sun_family = AF_UNIX;
    const char *path = sender.options.socket;
    if (strlen(path) >= sizeof sender.address.sun_path) fail("%s: the path is too long for a socket", path);
    memcpy(sender.address.sun_path, path, strlen(path));
    read_message(&sender);
    find_placeholders(&sender);

    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sender.epoll = epoll_create1(EPOLL_CLOEXEC);
    sender.connections = calloc(sender.options.connections, sizeof *sender.connections);
    if (sender.epoll < 0 || sender.connections == NULL) fail("epoll: %s", strerror(errno));
    for (uint32_t index = 0; index < sender.options.connections; index++) {
        sender.connections[index].descriptor = -1;
    }

    run(&sender);

    uint32_t open = 0;
    for (uint32_t index = 0; index < sender.options.connections; index++) {
        if (sender.connections[index].descriptor >= 0) open++;
    }
    printf("{\"calls\":%llu,\"answers\":%llu,\"errors\":%llu,\"closed\":%llu,\"open\":%u,"
           "\"first_error\":\"%s\"}\n",
           (unsigned long long)sender.calls, (unsigned long long)sender.answers, (unsigned long long)sender.errors,
           (unsigned long long)sender.closed, open, sender.first_error);
    return 0;
}
