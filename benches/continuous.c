/* A random chase that nothing interrupts: one cycle (Sattolo), one load each 64 bytes, in windows of 0.25 ms.
 * Usage: continuous CPU SECONDS READS huge|base BYTES...
 * READS: how often all lines are read in order before the chase.
 * Prints for each size: bytes, 2nd percentile and median of the windows, ns per access. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void **follow(void **at, size_t accesses) {
    for (; accesses >= 8; accesses -= 8)
        for (int i = 0; i < 8; i++) at = *(void *volatile *)at;
    return at;
}

static void link_lines(char *memory, size_t lines) {
    uint64_t state = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */
    for (size_t i = 0; i < lines; i++) *(char **)(memory + 64 * i) = memory + 64 * i;
    for (size_t i = lines - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        char **a = (char **)(memory + 64 * i), **b = (char **)(memory + 64 * (state % i)), *swap = *a;
        *a = *b, *b = swap;
    }
}

static int chase(size_t bytes, double seconds, int reads, int advice) {
    enum { HUGE = 2 << 20, OTHER = 512 << 20, MOST = 1 << 20 };
    size_t lines = bytes / 64, mapped = (bytes + 2 * HUGE) / HUGE * HUGE, count = 0;
    char *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double *windows = malloc(MOST * sizeof *windows);
    if (map == MAP_FAILED || !windows || lines < 2) return 1;
    char *memory = (char *)(((uintptr_t)map + HUGE - 1) / HUGE * HUGE);
    madvise(map, mapped, advice);
    link_lines(memory, lines);
    void **at = (void **)memory;
    volatile char *other = mmap(NULL, OTHER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED) return 1;
    for (size_t i = 0; i < OTHER; i += 64) other[i] = 1; /* takes the lines that linking left in the caches */
    munmap((void *)other, OTHER);
    for (int pass = 0; pass < reads; pass++)
        for (size_t i = 0; i < lines; i++) (void)*(volatile char *)(memory + 64 * i);
    double begin = now();
    at = follow(at, 4096);
    size_t accesses = (size_t)(0.25e6 / ((now() - begin) / 4096)) / 8 * 8 + 8;
    begin = now();
    for (double before = begin; before - begin < seconds * 1e9 && count < MOST; count++) {
        at = follow(at, accesses);
        double after = now();
        windows[count] = (after - before) / accesses, before = after;
    }
    qsort(windows, count, sizeof *windows, by_value);
    printf("%zu %.3f %.3f\n", bytes, windows[count / 50], windows[count / 2]);
    free(windows);
    munmap(map, mapped);
    return at == NULL;
}

int main(int argc, char **argv) {
    if (argc < 6) return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) return 1;
    int advice = strcmp(argv[4], "base") ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    for (int i = 5; i < argc; i++)
        if (chase(strtoull(argv[i], NULL, 10), atof(argv[2]), atoi(argv[3]), advice)) return 1;
    return 0;
}
