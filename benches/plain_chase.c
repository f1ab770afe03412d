/* What a plain tool computes: one random cycle (Sattolo), a timer around all accesses, wall time over count.
 * Usage: plain_chase BYTES SECONDS; prints ns per access. Transparent huge pages are asked for. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below) { /* xorshift64 (Marsaglia 2003); its bias below 2^26 does not matter here */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    size_t bytes = strtoull(argv[1], NULL, 10), lines = bytes / 64;
    double seconds = atof(argv[2]);
    char *memory = aligned_alloc(2 << 20, bytes);
    uint32_t *next = malloc(lines * sizeof *next);
    if (!memory || !next || lines < 2) return 1;
    madvise(memory, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < lines; i++) next[i] = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = draw(i);
        uint32_t swap = next[i];
        next[i] = next[j];
        next[j] = swap;
    }
    for (size_t i = 0; i < lines; i++) *(char **)(memory + 64 * i) = memory + 64 * (size_t)next[i];
    size_t walked = 0;
    char *at = memory;
    do {
        at = *(char **)at;
        walked++;
    } while (at != memory);
    if (walked != lines) return 1; /* not one cycle */
    size_t count = 0;
    double start = now(), end;
    do {
        for (int i = 0; i < 4096; i++) at = *(char *volatile *)at;
        count += 4096;
        end = now();
    } while (end - start < seconds * 1e9);
    printf("%.2f\n", (end - start) / count);
    return at == NULL;
}
