/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the law scenarios: integers only, so that every byte is exact. */

extern "C" __global__ void step_state(unsigned *state, const unsigned *x, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = state[i] * 3u + x[i];
        state[i] = state[i] * 5u + x[i] + 1u;
    }
}

extern "C" __global__ void draw(const unsigned *generator, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (generator[0] + i) * 2654435761u;
}

extern "C" __global__ void advance(unsigned *generator, unsigned by)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        generator[0] += by;
}

extern "C" __global__ void read_queue(const unsigned *queue, const unsigned *x, unsigned *y,
                                      int rows, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned sum = x[i];
        for (int row = 0; row < rows; row++)
            sum = sum * 31u + queue[row * n + i];
        y[i] = sum;
    }
}

extern "C" __global__ void enqueue(unsigned *queue, const unsigned *x, int row, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        queue[row * n + i] = x[i] ^ 0x5bd1e995u;
}

/* The row comes from memory: which bytes it writes cannot be told from the arguments. */
extern "C" __global__ void enqueue_somewhere(unsigned *queue, const unsigned *x,
                                             const unsigned *row, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        queue[row[0] * n + i] = x[i] ^ 0x5bd1e995u;
}

/* Backwards from where the queue ends. */
extern "C" __global__ void enqueue_back(unsigned *end, const unsigned *x, const int *at, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        end[i - at[0]] = x[i] ^ 0x5bd1e995u;
}

/* What it writes has no pointer's name any more: the line that holds it, and some words on. */
extern "C" __global__ void enqueue_near_line(unsigned *queue, const unsigned *x, const unsigned *at,
                                             int n)
{
    unsigned *line = (unsigned *)((unsigned long long)queue & ~15ull);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        line[(long long)(at[0] & 127) - 64 + i] = x[i] ^ 0x5bd1e995u;
}

extern "C" __global__ void gradient(const unsigned *y, unsigned *g, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        g[i] = g[i] * 7u + y[i];
}

extern "C" __global__ void fill(unsigned *to, unsigned value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = value + i;
}

/* Leaves some bytes as they were: which, is in the data. */
extern "C" __global__ void patch(unsigned *state, const unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (x[i] & 1u))
        state[i] = x[i] * 9u;
}

extern "C" __global__ void count(unsigned *counters, const unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&counters[x[i] & 7u], 1u);
}

/* Takes its time, so that what should wait for it and does not is seen. */
extern "C" __global__ void slow_fill(unsigned *to, unsigned value, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mixed = value;
    for (int round = 0; round < rounds; round++)
        mixed = mixed * 1664525u + 1013904223u;
    if (i < n)
        to[i] = value + i + (mixed == 1u);
}

/* The same work by another name: only the kernel tells a replay apart. */
extern "C" __global__ void step_state_again(unsigned *state, const unsigned *x, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = state[i] * 3u + x[i];
        state[i] = state[i] * 5u + x[i] + 1u;
    }
}

/* The seed is the host's: it comes as an argument. */
extern "C" __global__ void draw_with_seed(unsigned seed, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (seed + i) * 2654435761u;
}

/* The row comes from memory: which bytes it reads cannot be told from the arguments. */
extern "C" __global__ void gather(const unsigned *pool, const unsigned *row, unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = pool[row[0] * n + i] * 3u + 1u;
}

extern "C" __global__ void append(unsigned *journal, const unsigned *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        journal[i] = journal[i] * 3u + from[i];
}

/* The oldest entry goes, unread, and a new one comes. */
extern "C" __global__ void roll(unsigned *history, const unsigned *x, unsigned *y)
{
    int i = threadIdx.x;
    unsigned next = i < 7 ? history[i + 1] : 0u;
    __syncthreads();
    if (i < 8) {
        y[i] = next * 31u + x[i];
        history[i] = next + x[i];
    }
}

/* Steps words at no regular distance: each is a stretch of its own. */
extern "C" __global__ void sprinkle(unsigned *state, const unsigned *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        state[i * 7 % n * 5] ^= x[i];
}

/* No two runs of it need draw the same. */
extern "C" __global__ void draw_by_clock(unsigned *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = (unsigned)clock64() + i;
}

/* Reads the words that `patch` writes, and no others. */
extern "C" __global__ void read_patched(const unsigned *state, const unsigned *x, unsigned *y,
                                        int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] & 1u ? state[i] * 3u + 1u : x[i];
}

/* Looks at what it has just written, which is no state for that. */
extern "C" __global__ void step_through(unsigned *state, const unsigned *x, volatile unsigned *y,
                                        int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = state[i] * 3u + x[i];
        state[i] = state[i] * 5u + y[i] + 1u;
    }
}

/* The compiler leaves bytes free between the members, and the kernel most of the places. */
struct padded {
    char factor;
    unsigned *state;
    unsigned *places[4];
    int n;
};
extern "C" __global__ void step_padded(padded by, const unsigned *x, unsigned unused)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < by.n) {
        by.places[0][i] = by.state[i] * by.factor + x[i];
        by.state[i] = by.state[i] * 5u + x[i] + 1u;
    }
}
