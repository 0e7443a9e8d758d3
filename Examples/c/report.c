/* Reports one issue to the issue daemon, using only the C library, and prints
   the daemon's reply.

       cc -o report report.c && ./report "The disk is full" */
#define _GNU_SOURCE
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns true if a user has this name or number. */
static bool is_user(uid_t user, const char *name) {
    if (name == NULL || *name == '\0') return false;
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)user);
    if (strcmp(name, number) == 0) return true;
    const struct passwd *found = getpwnam(name);
    return found != NULL && found->pw_uid == user;
}

/* Returns true if a socket is served by root, this user, "issued" or the user in ISSUED_SOCKET_USER. No other user may
   receive reports. */
static bool is_trusted(int descriptor) {
    struct ucred server;
    socklen_t size = sizeof server;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) return false;
    if (server.uid == 0 || server.uid == geteuid()) return true;
    return is_user(server.uid, "issued") || is_user(server.uid, secure_getenv("ISSUED_SOCKET_USER"));
}

/* Connects to a socket. Returns -1 if this fails or if the user who serves the socket is not trusted. */
static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path == '\0' || strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 && is_trusted(descriptor)) {
        return descriptor;
    }
    close(descriptor);
    return -1;
}

/* Connects to the socket in ISSUED_SOCKET. If it is not set, connects to the user's daemon or else to the system's. */
static int connect_to_daemon(void) {
    const char *path = secure_getenv("ISSUED_SOCKET");
    if (path != NULL) return connect_to(path);
    const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
    char folder[32], own[108];
    snprintf(folder, sizeof folder, "/run/user/%u", (unsigned)getuid());
    if (runtime == NULL || *runtime != '/') runtime = access(folder, F_OK) == 0 ? folder : NULL;
    int length = runtime != NULL
        ? snprintf(own, sizeof own, "%s/issued", runtime)
        : snprintf(own, sizeof own, "/tmp/issued-%u", (unsigned)getuid());
    /* A socket in the folder of another user may never answer. */
    struct stat status;
    bool is_own = length < (int)sizeof own && lstat(own, &status) == 0 && status.st_uid == geteuid();
    strncat(own, "/issued.sock", sizeof own - strlen(own) - 1);
    int descriptor = is_own ? connect_to(own) : -1;
    return descriptor >= 0 ? descriptor : connect_to("/run/issued/issued.sock");
}

/* Writes a text as a JSON string. The text must be UTF-8. */
static void print_json(FILE *output, const char *text) {
    fputc('"', output);
    for (const unsigned char *byte = (const unsigned char *)text; *byte != '\0'; byte++) {
        if (*byte == '"' || *byte == '\\') {
            fprintf(output, "\\%c", *byte);
        } else if (*byte < 0x20) {
            fprintf(output, "\\u%04x", *byte);
        } else {
            fputc(*byte, output);
        }
    }
    fputc('"', output);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: report MESSAGE\n");
        return 64;
    }

    /* A call is a JSON object followed by a NUL byte. */
    char *call = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&call, &size);
    if (text == NULL) return 71;
    fputs("{\"method\":\"org.issued.Collector.Report\",\"parameters\":{\"records\":[{\"message\":", text);
    print_json(text, arguments[1]);
    fputs(",\"severity\":\"error\",\"app\":{\"name\":\"report.c\",\"version\":\"1.0\"}}]}}", text);
    fputc('\0', text);
    if (fclose(text) != 0) return 71;

    int daemon = connect_to_daemon();
    if (daemon < 0) {
        fprintf(stderr, "report: cannot connect to the issue daemon, or another user serves its socket\n");
        return 69;
    }
    for (size_t sent = 0; sent < size;) {
        ssize_t step = send(daemon, call + sent, size - sent, MSG_NOSIGNAL);
        if (step < 0 && errno == EINTR) continue;
        if (step <= 0) {
            perror("report");
            return 69;
        }
        sent += (size_t)step;
    }
    free(call);

    /* The reply has the same form. It arrives when the record is on disk. */
    char reply[4096];
    size_t received = 0;
    while (received < sizeof reply && memchr(reply, '\0', received) == NULL) {
        ssize_t step = recv(daemon, reply + received, sizeof reply - received, 0);
        if (step < 0 && errno == EINTR) continue;
        if (step <= 0) {
            fprintf(stderr, "report: the daemon closed the connection\n");
            return 69;
        }
        received += (size_t)step;
    }
    if (memchr(reply, '\0', received) == NULL) {
        fprintf(stderr, "report: the reply is longer than expected\n");
        return 76;
    }
    close(daemon);
    puts(reply);
    return strstr(reply, "\"error\":") != NULL || strstr(reply, "\"rejected\":{") != NULL;
}
