#ifndef RECORD_LOG_H
#define RECORD_LOG_H

#include <sqlite3.h>
#include <stdint.h>

#include "rows.h"

/* The functions that store the record log in one format. */
struct record_log {
    /* Creates the tables and prepares the statements. */
    void (*create)(sqlite3 *database);
    /* Stores the rows of a commit within the open transaction. Their ids are consecutive. */
    void (*store)(const struct row *rows, uint32_t count, int64_t first_id, int64_t received_at);
};

/* The main function of a loop. Writes the record log, posting lists, totals, counts and the ledger as the daemon
   does, but without a socket, JSON, lookups and receipts. */
int run_loop(int argument_count, char **arguments, const struct record_log *log);

#endif
