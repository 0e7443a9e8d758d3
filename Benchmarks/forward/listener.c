/* Accepts requests over TLS and answers each with 200, as cheaply as possible. It
   writes the bodies to a file as received, with the time of the answer;
   `deflate_loop` reads that file afterwards. Serves one connection at a time. */
#define _GNU_SOURCE
#include "../ingest/failure.h"
#include "../ingest/stopwatch.h"
#include "bodies.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
static char head[64 * 1024];
static char *body;
static size_t body_capacity;

static volatile sig_atomic_t is_over;

static void end(int signal) {
    (void)signal;
    is_over = 1;
}

static int listen_on_loopback(unsigned short *port) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        fail("cannot listen: %s", strerror(errno));
    }
    *port = ntohs(address.sin_port);
    return listener;
}

/* Reads until the head of a request is complete. Returns its length, or 0 if the
   connection has ended. `have` is the number of bytes read, including those after the head. */
static size_t read_head(SSL *connection, size_t *have) {
    *have = 0;
    while (true) {
        int got = SSL_read(connection, head + *have, (int)(sizeof head - 1 - *have));
        if (got <= 0) return 0;
        *have += (size_t)got;
        head[*have] = '\0';
        const char *limit = strstr(head, "\r\n\r\n");
        if (limit != NULL) return (size_t)(limit - head) + 4;
        if (*have == sizeof head - 1) fail("a request has a head of more than %zu bytes", sizeof head);
    }
}

static size_t content_length(void) {
    const char *line = strcasestr(head, "\r\nContent-Length:");
    if (line == NULL) fail("a request has no Content-Length");
    return strtoull(line + strlen("\r\nContent-Length:"), NULL, 10);
}

static void write_all(FILE *file, const void *bytes, size_t count) {
    if (fwrite(bytes, 1, count, file) != count) fail("cannot write a body: %s", strerror(errno));
}

/* Reads a body. Its first `have` bytes were read with the head. */
static bool read_body(SSL *connection, size_t length, const char *beginning, size_t have) {
    if (length > body_capacity) {
        body_capacity = length * 2;
        body = realloc(body, body_capacity);
        if (body == NULL) fail("no memory for a body of %zu bytes", length);
    }
    if (have > length) fail("a request arrived before the answer to the previous one");
    memcpy(body, beginning, have);
    while (have < length) {
        int got = SSL_read(connection, body + have, (int)(length - have));
        if (got <= 0) return false;
        have += (size_t)got;
    }
    return true;
}

static bool serve_one(SSL *connection, FILE *bodies) {
    size_t have;
    size_t head_length = read_head(connection, &have);
    if (head_length == 0) return false;
    size_t length = content_length();
    bool is_compressed = strcasestr(head, "\r\nContent-Encoding: gzip") != NULL;
    if (!read_body(connection, length, head + head_length, have - head_length)) return false;
    if (SSL_write(connection, answer, sizeof answer - 1) <= 0) return false;
    struct body_head entry = {.length = length, .answered_at = monotonic_now(), .is_compressed = is_compressed};
    write_all(bodies, &entry, sizeof entry);
    write_all(bodies, body, length);
    return true;
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: listener CERTIFICATE KEY BODIES");
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_use_certificate_chain_file(context, arguments[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, arguments[2], SSL_FILETYPE_PEM) != 1) {
        fail("cannot use the certificate: %s", ERR_error_string(ERR_get_error(), NULL));
    }
    FILE *bodies = fopen(arguments[3], "wb");
    if (bodies == NULL) fail("%s: %s", arguments[3], strerror(errno));
    unsigned short port;
    int listener = listen_on_loopback(&port);
    printf("{\"port\": %d}\n", port);
    fflush(stdout);
    while (!is_over) {
        int accepted = accept(listener, NULL, NULL);
        if (accepted < 0) continue;
        SSL *connection = SSL_new(context);
        SSL_set_fd(connection, accepted);
        if (SSL_accept(connection) == 1) {
            while (!is_over && serve_one(connection, bodies)) {}
        }
        SSL_free(connection);
        close(accepted);
    }
    if (fclose(bodies) != 0) fail("cannot write the bodies: %s", strerror(errno));
    return 0;
}
