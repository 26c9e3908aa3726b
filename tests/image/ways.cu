// SPDX-License-Identifier: Apache-2.0
// Kernels that are loaded and launched in every way that there is.
extern "C" __global__ void increase(int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}

extern "C" __global__ void no_tail(int *x, short value) { x[threadIdx.x] = value; }

#define TEN(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7, x##8, x##9
#define HUNDRED TEN(int a), TEN(int b), TEN(int c), TEN(int d), TEN(int e), TEN(int f), TEN(int g), \
    TEN(int h), TEN(int i)
extern "C" __global__ void hundred(HUNDRED, TEN(int *j)) { *j9 = i9; }

__device__ int counter;
extern "C" __global__ void count() { counter += 1; }

struct alignas(32) wide { int words[8]; };
extern "C" __global__ void wide_second(int n, wide w, int *x) { x[n] = w.words[n]; }

// Where it writes depends on memory; how far that may be, on n.
extern "C" __global__ void increase_where(int *x, const int *flags, int n)
{
    int i = threadIdx.x;
    if (i < n && flags[i])
        x[i] += 1;
}
