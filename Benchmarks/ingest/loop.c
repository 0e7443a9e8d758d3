#include "loop.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "failure.h"

static const char usage[] =
    "usage: %s --database PATH [--records N] [--series N] [--distribution zipf|uniform]\n"
    "       [--batch N] [--warm-up N] [--seed N]\n";

static uint64_t number(const char *text) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' || *text < '0' || *text > '9') fail("%s is not a number", text);
    return value;
}

struct loop_options read_loop_options(int argument_count, char **arguments) {
    static const struct option known[] = {
        {"database", required_argument, NULL, 'f'}, {"records", required_argument, NULL, 'n'},
        {"series", required_argument, NULL, 'k'},   {"distribution", required_argument, NULL, 'd'},
        {"batch", required_argument, NULL, 'b'},    {"warm-up", required_argument, NULL, 'u'},
        {"seed", required_argument, NULL, 'x'},     {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct loop_options options = {.distribution = "zipf", .series = 300, .batch = 2000, .records = 1000000, .seed = 1};
    for (int option; (option = getopt_long(argument_count, arguments, "", known, NULL)) != -1;) {
        switch (option) {
        case 'f': options.database = optarg; break;
        case 'n': options.records = number(optarg); break;
        case 'k': options.series = (uint32_t)number(optarg); break;
        case 'd': options.distribution = optarg; break;
        case 'b': options.batch = (uint32_t)number(optarg); break;
        case 'u': options.warm_up = number(optarg); break;
        case 'x': options.seed = number(optarg); break;
        case 'h': printf(usage, arguments[0]); exit(0);
        default: fprintf(stderr, usage, arguments[0]); exit(64);
        }
    }
    if (options.database == NULL || optind != argument_count || options.batch == 0 || options.batch > 65536) {
        fprintf(stderr, usage, arguments[0]);
        exit(64);
    }
    return options;
}

void print_loop_report(const struct loop_options *options, struct stopwatch watch) {
    struct rusage usage_of_all;
    getrusage(RUSAGE_SELF, &usage_of_all);
    printf(
        "{\"records\":%llu,\"stored_total\":%llu,\"seconds\":%.6f,\"records_per_second\":%.0f,"
        "\"cpu_seconds\":%.6f,\"peak_memory_kib\":%ld}\n",
        (unsigned long long)options->records,
        (unsigned long long)(options->series + options->warm_up + options->records), in_seconds(watch.wall),
        (double)options->records / in_seconds(watch.wall), in_seconds(watch.processor), usage_of_all.ru_maxrss);
}
