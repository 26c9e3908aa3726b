/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the generated scenarios: 32-bit integers, so that every byte is exact.
 *
 * Each verb is one body over three views a, b, c, a number k and a count n, in four forms that
 * differ in how the kernel comes by `a`: as an argument, inside a struct passed by value, from
 * a table of pointers in device memory, or as a variable of the module. */

typedef unsigned word;

struct boxed {
    unsigned long long unrelated;
    word *a;
    unsigned long long more;
};

enum { POOL_WORDS = 16384 };
__device__ word pool[POOL_WORDS];

static __device__ __forceinline__ int thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ word mix(word value)
{
    value = (value ^ (value >> 16)) * 0x7feb352du;
    value = (value ^ (value >> 15)) * 0x846ca68bu;
    return value ^ (value >> 16);
}

#define VERB(name, BODY)                                                                         \
    extern "C" __global__ void name(word *a, const word *b, word *c, word k, int n)              \
    {                                                                                            \
        int i = thread_index();                                                                  \
        BODY                                                                                     \
    }                                                                                            \
    extern "C" __global__ void name##_boxed(struct boxed box, const word *b, word *c, word k,    \
                                            int n)                                               \
    {                                                                                            \
        word *a = box.a;                                                                         \
        int i = thread_index();                                                                  \
        BODY                                                                                     \
    }                                                                                            \
    extern "C" __global__ void name##_tabled(word **table, const word *b, word *c, word k, int n) \
    {                                                                                            \
        word *a = table[0];                                                                      \
        int i = thread_index();                                                                  \
        BODY                                                                                     \
    }                                                                                            \
    extern "C" __global__ void name##_global(word unused, const word *b, word *c, word k, int n)  \
    {                                                                                            \
        word *a = pool;                                                                          \
        int i = thread_index();                                                                  \
        BODY                                                                                     \
    }

/* Plain writes. */
VERB(fill, if (i < n) a[i] = k + i * 2654435761u;)
VERB(put, if (i < n) a[i] = b[i] ^ 0x5bd1e995u;)
VERB(slow, word mixed = k; for (int round = 0; round < 4000; round++) mixed = mixed * 1664525u + 1u;
     if (i < n) a[i] = k + i + (mixed == 1u);)

/* State that moves on: read, changed and written. */
VERB(evolve, if (i < n) { c[i] = a[i] * 3u + b[i]; a[i] = a[i] * 5u + b[i] + 1u; })
VERB(ema, if (i < n) a[i] = a[i] - a[i] / 8u + b[i];)
VERB(add, if (i < n) a[i] += b[i];)
VERB(highest, if (i < n) a[i] = max(a[i], b[i]);)
VERB(decay, if (i < n) a[i] = max(a[i] - a[i] / 8u, b[i]);)
VERB(bump, if (i < n) a[i] += k;)
VERB(atomic, if (i < n) atomicAdd(&a[i], b[i]);)

/* Reads. */
VERB(use, if (i < n) c[i] = a[i] * 31u + b[i];)
VERB(scale, if (i < n) c[i] = b[i] * (a[0] | 1u);)
VERB(grad, if (i < n) a[i] = a[i] * 7u + b[i];)

/* Generators: a[0] is the seed, a[1] the offset. */
VERB(draw, if (i < n) c[i] = mix(mix(a[0]) + a[1] + i);)
VERB(seeded, if (i < n) a[i] = mix(mix(k) + i);)
VERB(drawnext, word seed = a[0]; word at = a[1]; __syncthreads();
     for (; i < n; i += blockDim.x) c[i] = mix(mix(seed) + at + i);
     if (threadIdx.x == 0) { a[0] = seed; a[1] = at + k; })

/* Which bytes, is in the data. */
VERB(count, if (i < n) atomicAdd(&a[b[i] % k], 1u);)
VERB(patch, if (i < n && (b[i] & 1u)) a[i] = b[i] * 9u;)
VERB(scatter, if (i < n) a[c[0] % k * n + i] = b[i] + 1u;)
VERB(gather, if (i < n) c[i] = a[b[0] % k * n + i] * 3u + 1u;)

/* Histories and queues of k rows, n columns. */
VERB(roll, if (i < n) for (int row = k - 1; row >= 0; row--) a[row * n + i] = b[row * n + i];)
VERB(reduce, if (i < n) {
    word most = 0;
    for (int row = 0; row < k; row++)
        most = max(a[row * n + i], most);
    c[i] = most + 1u;
})
VERB(readrows, if (i < n) {
    word sum = b[i];
    for (int row = 0; row < k; row++)
        sum = sum * 31u + a[row * n + i];
    c[i] = sum;
})
VERB(column, if (i < n) a[i * k] = b[i];)

/* The order of its additions is the machine's: no two runs need agree. */
VERB(racy, if (i < n) c[i] = b[i] + (word)clock64() + (a == 0);)

/* Touches nothing: its launch shows the layer a buffer, so that a contract can name it. */
extern "C" __global__ void tag(word *a)
{
}
