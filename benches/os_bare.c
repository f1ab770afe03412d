/* The ground truth that benches/primitives.py holds tiermark and its peers against: each job is a bare loop that does
 * one thing and nothing else.
 *
 *     cc -O2 -pthread -Wl,-z,now -o os_bare benches/os_bare.c
 *     os_bare JOB [-b BYTES] [-c CPU[,CPU]] [-r RESIDENT_KIB] [-m MAPPINGS] [-t THREADS] [-s SECONDS] [-x PROGRAM]
 *
 * Blocks of at least 20 us lie between two readings of the clock, as in tiermark; printed are the median block's and
 * the whole loop's mean time of an operation, ns. -r fills so much memory with base pages before, -m makes small
 * mappings until there are so many, -t lets so many threads sleep beside the loop, which then runs in a thread of its
 * own as well: what a process is made of is part of what a fork costs. Symbols are resolved at the start (-z now), not
 * by every child anew. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define BLOCK_NS 20000.0
#define MOST_BLOCKS 100000
#define PAGE 4096
#define ROUND (16u << 20)
#define CAPACITY (64 << 10)

static size_t bytes = 4096;
static int cpus[2] = {-1, -1};
static char *program;
static int there[2], back[2], zero, null;
static unsigned char *one, *two;
static char child_stack[64 << 10];
static ucontext_t near_side, far_side;
/* What a job had to make ready in between, ns. */
static double idle;

static void check(int well, const char *what) {
    if (!well) {
        perror(what);
        exit(1);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    check(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

static void reap(pid_t child) {
    int status;
    check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "child");
}

static unsigned char *pages(size_t size, int flags) {
    unsigned char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    check(at != MAP_FAILED, "mmap");
    madvise(at, size, MADV_NOHUGEPAGE);
    return at;
}

/* One job's operation, so many times. */
static void do_getppid(long n) {
    while (n--) syscall(SYS_getppid);
}
static void do_clock(long n) {
    struct timespec t;
    while (n--) clock_gettime(CLOCK_MONOTONIC, &t);
}
static void do_read(long n) {
    while (n--) check(read(zero, one, bytes) == (ssize_t)bytes, "read");
}
static void do_write(long n) {
    while (n--) check(write(null, one, bytes) == (ssize_t)bytes, "write");
}
static void do_memcpy(long n) {
    while (n--) {
        memcpy(two, one, bytes);
        __asm__ volatile("" ::: "memory");
    }
}
static void do_memset(long n) {
    while (n--) {
        memset(two, 0xa5, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void do_open(long n) {
    while (n--) {
        int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
        check(file >= 0 && close(file) == 0, "open");
    }
}

/* Pages are counted; taking them away is not. */
static void do_fault(long n) {
    static size_t next = ROUND;
    while (n--) {
        if (next == ROUND) {
            double start = now();
            madvise(two, ROUND, MADV_DONTNEED);
            next = 0;
            idle += now() - start;
        }
        *(volatile unsigned char *)(two + next) = 1;
        next += PAGE;
    }
}

static void do_fork(long n) {
    while (n--) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        reap(child);
    }
}

static void do_vfork(long n) {
    while (n--) {
        pid_t child = vfork();
        if (child == 0) _exit(0);
        reap(child);
    }
}

static void do_exec(long n) {
    char *arguments[] = {program, "__end-at-once", NULL}, *environment[] = {NULL};
    while (n--) {
        pid_t child = fork();
        if (child == 0) {
            execve(program, arguments, environment);
            _exit(127);
        }
        reap(child);
    }
}

static void do_spawn(long n) {
    char *arguments[] = {program, "__end-at-once", NULL}, *environment[] = {NULL};
    while (n--) {
        pid_t child;
        check(posix_spawn(&child, program, NULL, NULL, arguments, environment) == 0, "posix_spawn");
        reap(child);
    }
}

static void *nothing(void *unused) { return unused; }

static void do_thread(long n) {
    while (n--) {
        pthread_t thread;
        check(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
    }
}

static void other_context(void) {
    for (;;) swapcontext(&far_side, &near_side);
}
static void do_context(long n) {
    while (n--) swapcontext(&near_side, &far_side);
}

static void do_ping(long n) {
    char byte = 1;
    while (n--) check(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1, "ping");
}

static void do_stream(long n) {
    while (n--)
        for (size_t done = 0; done < bytes;) {
            ssize_t got = read(there[0], one + done, bytes - done);
            check(got > 0, "read");
            done += got;
        }
}

static void *answer(void *unused) {
    char byte;
    pin(cpus[1]);
    while (read(there[0], &byte, 1) == 1 && byte == 1 && write(back[1], &byte, 1) == 1) {
    }
    return unused;
}

static void sender(void) {
    pin(cpus[1]);
    memset(one, 0x5a, bytes);
    for (;;)
        for (size_t done = 0; done < bytes;) {
            ssize_t gone = write(there[1], one + done, bytes - done);
            if (gone <= 0) _exit(1);
            done += gone;
        }
}

static pid_t partner;
static pthread_t partner_thread;

static void ready_pipes(void) {
    check(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0, "pipe");
    check(fcntl(there[1], F_SETPIPE_SZ, CAPACITY) == CAPACITY, "F_SETPIPE_SZ");
}

static void begin_child(void (*job)(void)) {
    ready_pipes();
    partner = fork();
    check(partner >= 0, "fork");
    if (partner == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        job();
        _exit(0);
    }
}

static void answer_process(void) { answer(NULL); }
static void ready_ping(void) { begin_child(answer_process); }
static void ready_stream(void) { begin_child(sender); }
static void ready_ping_thread(void) {
    ready_pipes();
    check(pthread_create(&partner_thread, NULL, answer, NULL) == 0, "thread");
}
static void ready_context(void) {
    getcontext(&far_side);
    far_side.uc_stack.ss_sp = child_stack;
    far_side.uc_stack.ss_size = sizeof child_stack;
    makecontext(&far_side, other_context, 0);
}

static const struct job {
    const char *name;
    void (*run)(long);
    void (*ready)(void);
} jobs[] = {
    {"getppid", do_getppid, NULL},
    {"clock_gettime", do_clock, NULL},
    {"read", do_read, NULL},
    {"write", do_write, NULL},
    {"open+close", do_open, NULL},
    {"fault", do_fault, NULL},
    {"fork", do_fork, NULL},
    {"vfork", do_vfork, NULL},
    {"exec", do_exec, NULL},
    {"spawn", do_spawn, NULL},
    {"thread", do_thread, NULL},
    {"swapcontext", do_context, ready_context},
    {"pipe-process", do_ping, ready_ping},
    {"pipe-thread", do_ping, ready_ping_thread},
    {"pipe-stream", do_stream, ready_stream},
    {"memcpy", do_memcpy, NULL},
    {"memset", do_memset, NULL},
};

/* What is measured, and for how long. */
static const struct job *job;
static double seconds = 0.3;

static void *sleeper(void *unused) {
    for (;;) pause();
    return unused;
}

/* Mappings of this process. */
static long areas(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    long lines = 0;
    check(maps != NULL, "/proc/self/maps");
    for (int letter; (letter = getc(maps)) != EOF;) lines += letter == '\n';
    fclose(maps);
    return lines;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ns of so many operations, without what had to be made ready. */
static double timed(long n) {
    idle = 0;
    double start = now();
    job->run(n);
    return now() - start - idle;
}

static void *measure(void *unused) {
    static double blocks[MOST_BLOCKS];
    /* A full pipe is emptied in one go and filled in one go: a block has several of both, as in tiermark. */
    long n = job->run == do_stream ? (4 * CAPACITY + bytes - 1) / bytes : 1, count = 0;
    double total = 0, end;
    pin(cpus[0]);
    if (job->ready) job->ready();
    job->run(1);
    while (timed(n) < BLOCK_NS && n < 1 << 20) n *= 2;
    for (end = now() + seconds * 1e9; now() < end && count < MOST_BLOCKS; count++) {
        double taken = timed(n);
        total += taken;
        blocks[count] = taken / n;
    }
    qsort(blocks, count, sizeof *blocks, ascending);
    printf("median %.3f mean %.3f blocks %ld of %ld\n", blocks[count / 2], total / count / n, count, n);
    return unused;
}

int main(int argc, char **argv) {
    long resident = 0, mappings = 0, threads = 0, option;
    pthread_t thread;
    for (size_t i = 0; argc > 1 && i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(jobs[i].name, argv[1]) == 0) job = &jobs[i];
    if (!job) {
        fprintf(
            stderr,
            "usage: %s JOB [-b bytes] [-c cpu[,cpu]] [-r KiB] [-m mappings] [-t threads] [-s seconds] [-x program]\n",
            argv[0]);
        return 2;
    }
    optind = 2;
    while ((option = getopt(argc, argv, "b:c:m:r:t:s:x:")) != -1) switch (option) {
        case 'b':
            bytes = strtoul(optarg, NULL, 10);
            break;
        case 'c':
            check(sscanf(optarg, "%d,%d", &cpus[0], &cpus[1]) >= 1, "-c");
            break;
        case 'm':
            mappings = atol(optarg);
            break;
        case 'r':
            resident = atol(optarg);
            break;
        case 't':
            threads = atol(optarg);
            break;
        case 's':
            seconds = atof(optarg);
            break;
        case 'x':
            program = optarg;
            break;
        default:
            return 2;
        }
    if (cpus[1] < 0) cpus[1] = cpus[0];
    zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    check(zero >= 0 && null >= 0, "/dev");
    /* Source and target at lines, apart by 22 lines within a page, as in tiermark: stores must not look like the loads
     * that follow. */
    one = pages(bytes + 2 * PAGE, MAP_PRIVATE);
    two = pages((bytes > ROUND ? bytes : ROUND) + 2 * PAGE, MAP_PRIVATE) + (job->run == do_fault ? 0 : 22 * 64);
    memset(one, 0x5a, bytes);
    if (job->run == do_memcpy || job->run == do_memset) memset(two, 1, bytes);
    if (resident > 0) memset(pages((size_t)resident << 10, MAP_PRIVATE), 1, (size_t)resident << 10);
    /* Two mappings and their guards for each thread are still to come; neighbours that may do the same would become
     * one. */
    for (long i = areas() + 2 * threads; i < mappings; i++)
        check(mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED,
              "mmap");
    for (long i = 1; i < threads; i++) check(pthread_create(&thread, NULL, sleeper, NULL) == 0, "thread");
    if (threads == 0)
        measure(NULL);
    else
        check(pthread_create(&thread, NULL, measure, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
    if (partner > 0) kill(partner, SIGKILL);
    return 0;
}
