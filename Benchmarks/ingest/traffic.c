#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

static const char *const actions[] = {
    "Reading",  "Writing",   "Loading",  "Decoding",  "Fetching", "Updating",  "Merging",
    "Parsing",  "Importing", "Exporting", "Checking", "Charging", "Reserving", "Releasing",
    "Sending",  "Signing",   "Indexing", "Resizing",  "Renewing", "Archiving",
};
static const char *const things[] = {
    "price",   "basket",  "invoice",  "voucher", "shipment", "address", "session", "profile", "picture",
    "review",  "receipt", "contract", "refund",  "stock",    "parcel",  "payment", "account", "message",
    "booking", "ticket",  "forecast", "report",  "licence",  "backup",  "journal",
};
static const char *const reasons[] = {
    "timed out",     "key not found",  "no such host",    "not permitted",  "broken pipe",
    "value is null", "already exists", "wrong signature", "quota exceeded", "out of range",
};
static const char *const applications[APPLICATIONS] = {
    "storefront", "checkout", "warehouse", "mailroom",  "accounting", "catalogue",
    "gateway",    "identity", "search",    "reporting", "thumbnails", "scheduler",
};
static const char *const versions[] = {"2.14.0", "2.14.1", "3.0.2", "1.9.17"};
static const char *const severities[] = {"error", "error", "warning", "error", "info", "warning", "error", "error"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Ids begin with a letter and a digit, since the daemon would treat an id without digits
   as a word. */
#define ORDER DIGIT DIGIT DIGIT DIGIT DIGIT DIGIT
#define SHORT_ID "e4" HEX HEX HEX HEX HEX HEX
#define LONG_ID SHORT_ID HEX HEX HEX HEX HEX HEX HEX HEX
#define INSTANT_4 TIME TIME TIME TIME
#define INSTANT INSTANT_4 INSTANT_4 INSTANT_4 INSTANT_4 INSTANT_4 INSTANT_4

static const char metadata[] =
    "{\"request\":\"" LONG_ID "\",\"tenant\":\"t-" DIGIT DIGIT DIGIT DIGIT "\",\"attempt\":" DIGIT
    ",\"elapsed\":0." DIGIT DIGIT DIGIT DIGIT ",\"cache\":false}";

/* Any two series have different message texts. */
static struct series make_series(uint32_t number) {
    const char *action = actions[number % COUNT(actions)];
    const char *thing = things[number / COUNT(actions) % COUNT(things)];
    const char *reason = reasons[(number + number / (COUNT(actions) * COUNT(things))) % COUNT(reasons)];
    uint32_t application = number % APPLICATIONS;
    const char *name = applications[application];

    char pattern[1024];
    int length = snprintf(
        pattern, sizeof pattern,
        "{\"message\":\"%s the %s of " ORDER " failed: %s (" SHORT_ID ")\",\"severity\":\"%s\","
        "\"domain\":\"com.example.%s.%sError\",\"code\":%u,\"occurred_at\":\"" INSTANT "\","
        "\"source\":{\"file_id\":\"Sources/%s/%s.swift\",\"line\":%u,\"column\":%u,"
        "\"function\":\"%s(_:for:)\",\"module\":\"%sServer\"},"
        "\"app\":{\"name\":\"%s\",\"version\":\"%s\",\"build\":%u,\"environment\":\"production\","
        "\"platform\":\"linux\",\"network\":\"ethernet\",\"development\":false},\"metadata\":%s}",
        action, thing, reason, severities[number % COUNT(severities)], name, thing, 4000 + number % 900, name, thing,
        20 + number % 400, 5 + number % 40, action, name, name, versions[number / 3 % COUNT(versions)],
        2400 + number % 7, metadata);
    if (length < 0 || (size_t)length >= sizeof pattern) fail("the text of a series is too long");

    return (struct series){.record = text_from(pattern), .application = application};
}

/* Makes the lookup table of Zipf's distribution. Each series has a number of entries in
   proportion to its frequency, at least one. */
static uint16_t *make_ranks(uint32_t series_count) {
    enum { RANK_COUNT = 1 << 16 };
    uint16_t *ranks = malloc(RANK_COUNT * sizeof *ranks);
    if (ranks == NULL) fail("out of memory for the ranks");
    double total = 0;
    for (uint32_t rank = 1; rank <= series_count; rank++) total += 1.0 / rank;
    double sum = 0;
    uint32_t index = 0;
    for (uint32_t rank = 1; rank <= series_count; rank++) {
        sum += 1.0 / rank;
        uint32_t end = rank == series_count ? RANK_COUNT : (uint32_t)(sum / total * RANK_COUNT);
        if (end <= index) end = index + 1;
        while (index < end && index < RANK_COUNT) ranks[index++] = (uint16_t)(rank - 1);
    }
    return ranks;
}

struct traffic make_traffic(uint32_t series_count, const char *distribution, uint64_t seed) {
    if (series_count == 0 || series_count > MAX_SERIES) fail("--series must be 1 to %d", MAX_SERIES);
    struct traffic traffic = {
        .series_count = series_count,
        .parts = text_from(ORDER "\037" SHORT_ID),
        .metadata = text_from(metadata),
        .randomness = {seed},
    };
    if (strcmp(distribution, "zipf") == 0) {
        traffic.ranks = make_ranks(series_count);
    } else if (strcmp(distribution, "uniform") != 0) {
        fail("--distribution must be zipf or uniform, not %s", distribution);
    }
    traffic.series = calloc(series_count, sizeof *traffic.series);
    if (traffic.series == NULL) fail("out of memory for the series");
    for (uint32_t number = 0; number < series_count; number++) traffic.series[number] = make_series(number);
    return traffic;
}

uint32_t longest_record(const struct traffic *traffic) {
    uint32_t longest = 0;
    for (uint32_t number = 0; number < traffic->series_count; number++) {
        if (traffic->series[number].record.length > longest) longest = traffic->series[number].record.length;
    }
    return longest;
}
