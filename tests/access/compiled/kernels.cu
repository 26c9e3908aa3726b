/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers make of addresses: pointers in local arrays, in shared memory, in structs passed by
 * value and through functions that are not inlined; indices by every integer width, by data, by
 * bits and shuffles; loops that nothing but their body bounds. All have the same parameters: `a` and
 * `b` may be written from 2,048 bytes before to 12,000 behind, `x` is random, `n` about 200.
 *
 * The PTX is committed, so that the test runs where there is no compiler for it:
 *     nvcc -ptx -arch=sm_75 [-Xcicc -O0 | -G] kernels.cu
 * of which lines about the source (.file, .loc, .section) are left out. */
#include <cooperative_groups.h>

#define KERNEL extern "C" __global__ void
#define PARAMS int *a, int *b, const int *x, int n
#define THREAD ((int)threadIdx.x)
#define INDEX ((int)(blockIdx.x * blockDim.x + threadIdx.x))

struct row {
    int *data;
    int size, stride;
};

struct rows {
    row of[2];
    int *other;
};

__constant__ int digits[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ int variable[1024];

/* ---- affine, more or less ----------------------------------------------------------- */

KERNEL plain(PARAMS) { if (INDEX < n) a[INDEX] = x[INDEX] + 1; }
KERNEL reversed(PARAMS) { if (INDEX < n) a[n - 1 - INDEX] = x[INDEX]; }
KERNEL from_the_end(PARAMS) { int *end = a + n; end[-THREAD - 1] = THREAD; }
KERNEL by_vectors(PARAMS) { ((int4 *)a)[THREAD] = ((const int4 *)x)[THREAD & 15]; }
KERNEL by_rows_of_seven(PARAMS) { a[INDEX / 7 * 16 + INDEX % 7] = INDEX; }
KERNEL by_difference(PARAMS) { long far = b - a; a[far + THREAD] = 1; }
KERNEL to_variable(PARAMS) { variable[THREAD * 3] = n; }

KERNEL strided(PARAMS)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) {
        a[i] = x[i] * 2;
        if (i & 1)
            b[i / 2] = i;
    }
}

KERNEL in_three_dimensions(PARAMS)
{
    int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    a[i ^ 7] = i;
}

KERNEL by_structs(row one, rows two, int n, int z)
{
    if (THREAD < one.size)
        one.data[THREAD * one.stride] = 1;
    two.of[THREAD & 1].data[THREAD] = 2;
    two.other[THREAD + z] = 3;
}

/* ---- widths, signs and bits --------------------------------------------------------- */

KERNEL wrapped(PARAMS) { a[(THREAD - 5u) & 63u] = THREAD; }
KERNEL by_bytes(PARAMS) { a[(unsigned char)(THREAD * 9)] = 1; }
KERNEL by_floats(PARAMS) { a[(int)floorf(THREAD * 0.5f + 0.25f)] = 1; }

KERNEL by_shorts(PARAMS)
{
    a[(short)(THREAD * 1000) & 0xff] = 1;
    a[256 + (signed char)THREAD] = 1;
}

KERNEL by_long_longs(PARAMS)
{
    a[(long long)THREAD * n % 256] = 1;
    a[(0xfffffff0u + THREAD) & 255] = 2;
}

KERNEL over_the_top(PARAMS)
{
    unsigned i = THREAD * 0x10000001u;
    a[i & 127] = 1;
    a[(i >> 28) + 200] = 2;
}

KERNEL by_bits(PARAMS)
{
    a[__clz(THREAD)] = 1;
    a[40 + __ffs(THREAD)] = 2;
    a[80 + __brev(THREAD) % 32] = 1;
    a[128 + __byte_perm(THREAD, 0, 0x4440)] = 3;
}

KERNEL by_wide_products(PARAMS)
{
    a[__sad(THREAD, 30, 5u)] = 1;
    a[64 + __mulhi(THREAD << 28, 64) + 32] = 2;
    a[200 + __funnelshift_l(THREAD, 0x80000000u, 1) % 64] = 1;
}

KERNEL clamped(PARAMS)
{
    a[min(max(THREAD - 8, 0), 20)] = 1;
    b[abs(THREAD - 16)] = 1;
}

/* ---- pointers made of other things --------------------------------------------------- */

KERNEL aligned(PARAMS) { ((int *)(((size_t)a + 255) & ~(size_t)255))[THREAD] = 1; }
KERNEL masked_twice(PARAMS) { ((int *)(((size_t)a ^ (size_t)b) ^ (size_t)b))[THREAD] = 1; }
KERNEL chosen(PARAMS) { (x[THREAD] & 1 ? a : n > 100 ? b : a + 64)[THREAD] = 2; }

KERNEL from_local(PARAMS)
{
    int *any[4] = {a, b, a + 64, b + 64};
    any[THREAD & 3][THREAD] = THREAD;
}

KERNEL from_shared(PARAMS)
{
    __shared__ int *any[2];
    if (THREAD == 0) {
        any[0] = a;
        any[1] = b + 32;
    }
    __syncthreads();
    any[THREAD & 1][THREAD] = 7;
}

KERNEL from_halves(PARAMS)
{
    union {
        int *pointer;
        unsigned half[2];
    } both;
    both.pointer = a;
    both.half[0] += 4 * THREAD;
    *both.pointer = 3;
}

KERNEL from_bytes(PARAMS)
{
    int *copy;
    for (int i = 0; i < 8; i++)
        ((char *)&copy)[i] = ((char *)&a)[i];
    copy[THREAD] = 3;
}

__device__ __noinline__ int *pick(int *a, int *b, int which) { return which ? a : b; }
KERNEL from_function(PARAMS) { pick(a, b, THREAD & 1)[THREAD] = THREAD; }

/* ---- indices that are data ----------------------------------------------------------- */

KERNEL by_constants(PARAMS) { a[digits[THREAD & 15] * 8 + (THREAD & 7)] = THREAD; }
KERNEL histogram(PARAMS) { if (INDEX < n) atomicAdd(&a[x[INDEX] & 63], 1); }
KERNEL by_shuffle(PARAMS) { a[__shfl_xor_sync(~0u, THREAD, 5)] = THREAD; }

KERNEL by_local(PARAMS)
{
    int offsets[8];
    for (int i = 0; i < 8; i++)
        offsets[i] = (i * 37 + n) % 64;
    a[offsets[THREAD & 7] + 64 * (THREAD >> 3)] = THREAD;
}

KERNEL compacted(PARAMS)
{
    unsigned votes = __ballot_sync(~0u, x[THREAD] & 1), lane = THREAD & 31;
    if (votes >> lane & 1)
        a[__popc(votes & ((1u << lane) - 1))] = THREAD;
}

KERNEL along_a_list(PARAMS)
{
    int at = THREAD & 31;
    for (int i = 0; i < 4; i++) {
        at = x[at] & 63;
        a[at + 64 * i] = i;
    }
}

KERNEL by_what_it_wrote(PARAMS)
{
    if (THREAD == 0)
        b[0] = 17;
    __syncthreads();
    a[((volatile int *)b)[0] + THREAD] = 1;
}

KERNEL sorted(PARAMS)
{
    __shared__ int keys[64];
    int i = THREAD & 63;
    keys[i] = x[i] & 63;
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            int other = i ^ step;
            if (other > i && THREAD < 64 && (keys[i] > keys[other]) == ((i & size) == 0)) {
                int key = keys[i];
                keys[i] = keys[other];
                keys[other] = key;
            }
            __syncthreads();
        }
    }
    if (THREAD < 64)
        a[keys[i] + i] = 1;
}

KERNEL switched(PARAMS)
{
    int i = THREAD;
    switch (x[i] & 7) {
    case 0: a[i] = 0; break;
    case 1: a[i + 64] = 1; break;
    case 2: b[i] = 2; break;
    case 3: b[i + 1] = 3; break;
    case 4: a[2 * i] = 4; break;
    case 5: a[i / 2] = 5; break;
    default: b[300 - i] = 6;
    }
}

/* ---- through shared memory, and together --------------------------------------------- */

KERNEL staged(PARAMS)
{
    __shared__ int words[256];
    words[THREAD] = x[THREAD];
    __syncthreads();
    a[INDEX ^ 1] = words[blockDim.x - 1 - THREAD];
}

KERNEL transposed(PARAMS)
{
    __shared__ int tile[16][17];
    int column = THREAD & 15, row = THREAD >> 4;
    tile[row][column] = x[row * 16 + column];
    __syncthreads();
    a[column * 16 + row] = tile[row][column];
}

KERNEL in_tiles(PARAMS)
{
    auto tile = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
    a[tile.meta_group_rank() * 8 + (tile.thread_rank() ^ 3)] = tile.size();
}

KERNEL atomics(PARAMS)
{
    atomicCAS(&a[THREAD * 2], 0, THREAD);
    atomicExch(&b[THREAD], THREAD);
    atomicMax(&a[200], THREAD);
    atomicAdd((unsigned long long *)b + 64 + THREAD, 1ull);
}

/* ---- loops --------------------------------------------------------------------------- */

KERNEL copied(PARAMS) { if (THREAD < 4) memcpy(a + THREAD * 16, x + THREAD, 60); }
KERNEL set(PARAMS) { if (THREAD == 0) memset(a + 3, 7, n % 256); }

KERNEL doubling(PARAMS)
{
    for (int i = THREAD; i < n; i = i * 2 + 1)
        a[i] = i;
}

KERNEL wandering(PARAMS)
{
    int at = THREAD + 1;
    for (int steps = 0; at != 1 && steps < 60;) {
        at = at & 1 ? 3 * at + 1 : at / 2;
        a[at & 127] = ++steps;
    }
}

KERNEL broken_off(PARAMS)
{
    for (int i = 0; i < n; i++) {
        if (i * i > n + THREAD)
            break;
        a[i + THREAD] = i;
    }
}

KERNEL triangle(PARAMS)
{
    for (int row = 0; row < 8; row++)
        for (int column = row; column < 8; column++)
            a[row * 8 + column + 64 * (THREAD & 3)] = column;
}

KERNEL downwards(PARAMS)
{
    int i = n;
    do {
        i -= 3;
        a[i & 255] = i;
    } while (i > 0);
}

/* ---- of which nothing is proved ------------------------------------------------------ */

__device__ __noinline__ void descend(int *a, int i, int depth)
{
    if (depth)
        descend(a, i * 2 % 64, depth - 1);
    a[i] = depth;
}
KERNEL unproved_recursion(PARAMS) { descend(a, THREAD & 63, 3); }

__device__ void here(int *to, int i) { to[i] = 1; }
__device__ void there(int *to, int i) { to[i + 32] = 2; }
__device__ void (*const ways[2])(int *, int) = {here, there};
KERNEL unproved_pointer(PARAMS) { ways[THREAD & 1](a, THREAD); }

struct base {
    __device__ virtual void write(int *to, int i) = 0;
};
struct shifted : base {
    int by;
    __device__ shifted(int by) : by(by) {}
    __device__ void write(int *to, int i) override { to[i + by] = i; }
};
struct spread : base {
    __device__ void write(int *to, int i) override { to[2 * i] = i; }
};
KERNEL unproved_virtual(PARAMS)
{
    shifted one(n % 32);
    spread two;
    base *either = THREAD & 1 ? (base *)&one : (base *)&two;
    either->write(a, THREAD);
}
