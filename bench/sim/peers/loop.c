// A hand-tuned event loop in C, as the practical limit: 250 dynos behind one router. Every step of
// a request is an event in a binary heap of 16-byte entries; requests live in arrays, lines in
// rings. usage: loop random|least REQUESTS SEED
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DYNOS = 250, LINE = 1 << 12 };
enum { ARRIVE, REACH, DONE, BACK };
#define CABLE 2.0
#define FIXED 20.0
#define MEAN 100.0
#define GAP 1.5

typedef struct { double t; uint32_t request; uint16_t dyno; uint16_t kind; } event;

static event *heap;
static int size;

static inline void push(event x) {
	int i = size++;
	while (i > 0) {
		int p = (i - 1) >> 1;
		if (heap[p].t <= x.t) break;
		heap[i] = heap[p];
		i = p;
	}
	heap[i] = x;
}

static inline event pop(void) {
	event top = heap[0], x = heap[--size];
	int i = 0;
	for (;;) {
		int c = 2 * i + 1;
		if (c >= size) break;
		if (c + 1 < size && heap[c + 1].t < heap[c].t) c++;
		if (heap[c].t >= x.t) break;
		heap[i] = heap[c];
		i = c;
	}
	heap[i] = x;
	return top;
}

static uint64_t state;
static inline uint64_t next(void) { // SplitMix64
	uint64_t z = (state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
static inline double expo(double mean) { return -mean * log(((next() >> 12) + 0.5) * 0x1p-52); }

static uint32_t line[DYNOS][LINE];
static uint32_t head[DYNOS], tail[DYNOS];
static uint8_t busy[DYNOS];

// Least connections: the dynos by their number of connections.
static uint16_t level[LINE][DYNOS], count[LINE], at[DYNOS], conns[DYNOS];
static int low;
static inline void move(int d, int by) {
	int c = conns[d], last = level[c][--count[c]];
	level[c][at[d]] = last;
	at[last] = at[d];
	c = conns[d] += by;
	at[d] = count[c];
	level[c][count[c]++] = d;
	if (c < low) low = c;
}

static int order(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc != 4) return 2;
	int least = !strcmp(argv[1], "least");
	uint32_t n = strtoul(argv[2], 0, 10);
	state = strtoull(argv[3], 0, 10) * 0x9e3779b97f4a7c15u;
	heap = malloc(sizeof *heap * 1000000);
	double *begin = malloc(sizeof *begin * n), *took = malloc(sizeof *took * n);
	for (int d = 0; d < DYNOS; d++) level[0][d] = at[d] = d;
	count[0] = DYNOS;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	push((event){expo(GAP), 0, 0, ARRIVE});
	while (size) {
		event x = pop();
		uint16_t d = x.dyno;
		switch (x.kind) {
		case ARRIVE:
			begin[x.request] = x.t;
			if (least) {
				while (!count[low]) low++;
				d = level[low][count[low] - 1];
				move(d, 1);
			} else {
				d = (next() >> 32) * DYNOS >> 32;
			}
			push((event){x.t + CABLE, x.request, d, REACH});
			if (x.request + 1 < n) push((event){x.t + expo(GAP), x.request + 1, 0, ARRIVE});
			break;
		case REACH:
			if (busy[d]) {
				line[d][tail[d]++ & (LINE - 1)] = x.request;
			} else {
				busy[d] = 1;
				push((event){x.t + FIXED + expo(MEAN), x.request, d, DONE});
			}
			break;
		case DONE:
			if (head[d] != tail[d]) {
				push((event){x.t + FIXED + expo(MEAN), line[d][head[d]++ & (LINE - 1)], d, DONE});
			} else {
				busy[d] = 0;
			}
			push((event){x.t + CABLE, x.request, d, BACK});
			break;
		case BACK:
			if (least) move(d, -1);
			took[x.request] = x.t - begin[x.request];
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	double *half = took + n / 4;
	uint32_t m = n - n / 4 - n / 4;
	qsort(half, m, sizeof *half, order);
	printf("{\"requests\":%u,\"seconds\":%.6f,\"median\":%.3f,\"p95\":%.3f,\"p99\":%.3f}\n", n,
		(b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) * 1e-9, half[m / 2], half[(uint64_t)m * 95 / 100], half[(uint64_t)m * 99 / 100]);
	return 0;
}
