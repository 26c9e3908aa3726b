// SPDX-License-Identifier: Apache-2.0
// Parameters of every kind, for the reader of machine code.
#include <cstdio>

template <int BYTES> struct block { // a pointer after BYTES of other things
    long before[BYTES / 8 - 1];
    int *last;
};
#define BLOCK(bytes) \
    extern "C" __global__ void block_##bytes(block<bytes> b) { *b.last = 1; }
BLOCK(256) BLOCK(320) BLOCK(4096) BLOCK(4344) BLOCK(4352) BLOCK(16384) BLOCK(32752)

// One byte more than the older records can tell of, in two parameters.
extern "C" __global__ void two_blocks(block<4352> b, int *x) { *x = *b.last; }

extern "C" __global__ void no_tail(int *x, short value) { x[threadIdx.x] = value; }

struct alignas(32) wide { int words[8]; };
struct alignas(128) map { int words[32]; };
extern "C" __global__ void wide_second(int n, wide w, int *x) { x[n] = w.words[n]; }
extern "C" __global__ void map_first(map m, int *x) { *x = m.words[threadIdx.x]; }

__device__ int counter;
__device__ float table[64] = {1, 2};
__constant__ int factors[8];
extern "C" __global__ void count() { atomicAdd(&counter, 1); }
extern "C" __global__ void scale(int *x) { *x = factors[threadIdx.x] * (int)table[threadIdx.x]; }

extern "C" __global__ void say(int *x) { printf("%d\n", *x); }
extern "C" __global__ void reserve(int **x) { *x = (int *)malloc(4); }
