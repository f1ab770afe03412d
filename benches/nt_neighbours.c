/* What cached neighbours cost non-temporal stores: a triad over three arrays of 84 lines, whose destination's last page
 * has its other lines cached (A) or flushed (B), A B A B in fresh memory. Prints GB/s, three arrays counted.
 *
 *     cc -O2 benches/nt_neighbours.c -o /tmp/nt_neighbours && /tmp/nt_neighbours
 */
#define _GNU_SOURCE
#include <emmintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LINES = 84, BYTES = LINES * 64, PASSES = 20000, PAIRS = 15, AREA = 1 << 16 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double triad(double *dst, const double *b, const double *c) {
    __m128d factor = _mm_set1_pd(1.5);
    double start = now();
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < BYTES / 8; i += 2)
            _mm_stream_pd(dst + i, _mm_add_pd(_mm_load_pd(b + i), _mm_mul_pd(factor, _mm_load_pd(c + i))));
    _mm_sfence();
    return 3.0 * BYTES * PASSES / (now() - start) / 1e9;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    double rates[2][PAIRS];
    for (int pair = 0; pair < PAIRS; pair++)
        for (int flushed = 0; flushed < 2; flushed++) {
            /* Kept mapped, so that the next gets other pages. */
            char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (area == MAP_FAILED) {
                perror("mmap");
                return 1;
            }
            for (int i = 0; i < AREA / 8; i++) ((double *)area)[i] = 1.0 + i / 1e5;
            /* In both cases the destination itself is flushed. */
            for (int at = 0; at < (flushed ? 8192 : BYTES); at += 64) _mm_clflush(area + at);
            _mm_mfence();
            rates[flushed][pair] =
                triad((double *)area, (double *)(area + 16384 + 1408), (double *)(area + 32768 + 2816));
        }
    for (int flushed = 0; flushed < 2; flushed++) qsort(rates[flushed], PAIRS, sizeof(double), by_size);
    printf("neighbours cached %.1f GB/s, flushed %.1f GB/s (medians of %d), ratio %.2f\n", rates[0][PAIRS / 2],
           rates[1][PAIRS / 2], PAIRS, rates[1][PAIRS / 2] / rates[0][PAIRS / 2]);
    return 0;
}
