/* Points around the calls of SQLite: one pair for each step of a transaction, named after its statement. */

#include <sqlite3.h>
#include <string.h>

#include "faults.h"

/* The work of a transaction, which determines the name of the points around its COMMIT. */
enum doing {
    NOTHING,
    STORING,
    SETTLING,
    MOVING_CURSOR,
    FORGETTING,
    CLOSING_RANGE,
    MIGRATING,
};

static struct {
    const char *start;
    const char *name;
    enum doing doing;
    struct faults_place place;
} statements[] = {
    {"BEGIN IMMEDIATE", "begin", NOTHING, {0, 0}},
    {"INSERT OR REPLACE INTO blocks ", "commit: records", STORING, {0, 0}},
    {"INSERT INTO series ", "commit: series", STORING, {0, 0}},
    {"UPDATE producers ", "commit: producers", STORING, {0, 0}},
    {"INSERT INTO ledger ", "ledger", NOTHING, {0, 0}},
    {"INSERT INTO postings ", "range: postings", CLOSING_RANGE, {0, 0}},
    {"INSERT INTO totals ", "range: totals", CLOSING_RANGE, {0, 0}},
    {"INSERT INTO counts ", "range: counts", CLOSING_RANGE, {0, 0}},
    {"INSERT INTO ranges ", "range: ranges", CLOSING_RANGE, {0, 0}},
    {"INSERT INTO batches ", "cursor: batches", MOVING_CURSOR, {0, 0}},
    {"UPDATE destinations SET cursor", "cursor: destinations", MOVING_CURSOR, {0, 0}},
    {"UPDATE batches SET state = ?7, at", "settle: batches", SETTLING, {0, 0}},
    {"DELETE FROM blocks ", "forget: records", FORGETTING, {0, 0}},
    {"DELETE FROM postings ", "forget: postings", FORGETTING, {0, 0}},
    {"DELETE FROM ranges ", "forget: ranges", FORGETTING, {0, 0}},
};

static struct {
    const char *name;
    struct faults_place place;
} commits[] = {
    [NOTHING] = {"commit of something else", {0, 0}},
    [STORING] = {"commit", {0, 0}},
    [SETTLING] = {"settle: commit", {0, 0}},
    [MOVING_CURSOR] = {"cursor: commit", {0, 0}},
    [FORGETTING] = {"forget: commit", {0, 0}},
    [CLOSING_RANGE] = {"range: commit", {0, 0}},
    [MIGRATING] = {"migration: commit", {0, 0}},
};

static struct faults_place script_place, version_place, shrink_place, checkpoint_place;
static int (*real_step)(sqlite3_stmt *);
static int (*real_exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
static int (*real_checkpoint)(sqlite3 *, const char *, int, int *, int *);

/* Only the writer thread begins transactions with IMMEDIATE. */
static __thread enum doing doing;
/* The nesting depth: SQLite implements some of these functions with others. */
static __thread int depth;

enum { statement_count = sizeof statements / sizeof *statements, commit_count = sizeof commits / sizeof *commits };

__attribute__((constructor)) static void find_functions(void) {
    real_step = (int (*)(sqlite3_stmt *))faults_real("sqlite3_step");
    real_exec = (int (*)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **))faults_real(
        "sqlite3_exec");
    real_checkpoint =
        (int (*)(sqlite3 *, const char *, int, int *, int *))faults_real("sqlite3_wal_checkpoint_v2");
    for (int index = 0; index < statement_count; index++) {
        statements[index].place = faults_place(statements[index].name);
    }
    for (int index = 0; index < commit_count; index++) commits[index].place = faults_place(commits[index].name);
    script_place = faults_place("migration: script");
    version_place = faults_place("migration: version");
    shrink_place = faults_place("shrink");
    checkpoint_place = faults_place("checkpoint");
}

static bool starts(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static struct faults_place place_of(const char *sql) {
    static const struct faults_place none = {0, 0};
    if (sql == NULL || depth > 0) return none;
    switch (*sql) {
    case 'B': case 'I': case 'U': case 'D': case 'C': break;
    default: return none;
    }
    if (starts(sql, "COMMIT")) return commits[doing].place;
    for (int index = 0; index < statement_count; index++) {
        if (!starts(sql, statements[index].start)) continue;
        if (starts(sql, "BEGIN")) doing = NOTHING;
        if (statements[index].doing > doing) doing = statements[index].doing;
        return statements[index].place;
    }
    return none;
}

int sqlite3_step(sqlite3_stmt *statement) {
    if (faults == NULL) return real_step(statement);
    struct faults_place place = place_of(sqlite3_sql(statement));
    faults_pass(place.before);
    depth++;
    int code = real_step(statement);
    depth--;
    faults_pass(place.after);
    return code;
}

int sqlite3_exec(
    sqlite3 *database, const char *sql, int (*each)(void *, int, char **, char **), void *context, char **message) {
    struct faults_place place = {0, 0};
    if (faults != NULL && depth == 0) {
        if (strstr(sql, "CREATE TABLE") != NULL || strstr(sql, "CREATE VIEW") != NULL) {
            doing = MIGRATING;
            place = script_place;
        } else if (starts(sql, "PRAGMA user_version=")) {
            place = version_place;
        } else if (starts(sql, "PRAGMA incremental_vacuum")) {
            place = shrink_place;
        }
    }
    faults_pass(place.before);
    depth++;
    int code = real_exec(database, sql, each, context, message);
    depth--;
    faults_pass(place.after);
    return code;
}

int sqlite3_wal_checkpoint_v2(sqlite3 *database, const char *name, int mode, int *frames, int *copied) {
    faults_pass(checkpoint_place.before);
    int code = real_checkpoint(database, name, mode, frames, copied);
    faults_pass(checkpoint_place.after);
    return code;
}
