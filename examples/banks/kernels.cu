/* SPDX-License-Identifier: Apache-2.0 */
/* The device code of banks: layers of parts, each a small dense product with a vector of the
 * layer's bank added, through x / (1 + |x|).
 *
 * Everything is single precision; vectors are rows of WIDTH floats, one after the other. Every
 * sum runs in a fixed order and there are no atomics: the same inputs give the same bits. */

enum { WIDTH = 16 };

static __device__ float softsign(float x)
{
    return x / (1.0f + fabsf(x));
}

/* ---- the forward pass ---- */

extern "C" __global__ void part_forward(const float *x, const float *weight, const float *bank,
                                        float *a, int n, int bank_n, int shift)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float *row = x + i / WIDTH * WIDTH;
        float sum = bank[(unsigned)(i + shift) % (unsigned)bank_n];
        for (int k = 0; k < WIDTH; k++)
            sum += row[k] * weight[k * WIDTH + i % WIDTH];
        a[i] = softsign(sum);
    }
}

/* y = x + the sum of `parts` vectors, which lie one after the other. */
extern "C" __global__ void add_parts(const float *x, const float *a, float *y, int n, int parts)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = x[i];
        for (int part = 0; part < parts; part++)
            sum += a[(size_t)part * n + i];
        y[i] = sum;
    }
}

/* A few of the bank's vectors move towards what the layer makes of them. */
extern "C" __global__ void bank_write(const float *a, float *bank, int at, int count, float keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        bank[at + i] = keep * bank[at + i] + (1.0f - keep) * a[i];
}

/* ---- the backward pass ---- */

/* `a` is softsign(z); its slope is (1 - |a|)^2. */
extern "C" __global__ void slope(const float *a, const float *dy, float *dz, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float steep = 1.0f - fabsf(a[i]);
        dz[i] = dy[i] * steep * steep;
    }
}

/* dx += dz weight^T. The block turns the weights round first, for lanes to read side by side. */
extern "C" __global__ void input_backward(const float *dz, const float *weight, float *dx, int n)
{
    __shared__ float turned[WIDTH * WIDTH];
    for (int k = threadIdx.x; k < WIDTH * WIDTH; k += blockDim.x)
        turned[k % WIDTH * WIDTH + k / WIDTH] = weight[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float *row = dz + i / WIDTH * WIDTH;
        float sum = dx[i];
        for (int j = 0; j < WIDTH; j++)
            sum += row[j] * turned[j * WIDTH + i % WIDTH];
        dx[i] = sum;
    }
}

/* One block a chunk of rows, one thread a weight: partial[chunk] = x^T dz over them. */
extern "C" __global__ void weight_backward(const float *x, const float *dz, float *partial,
                                           int rows, int chunk_rows)
{
    int from = threadIdx.x / WIDTH;
    int to = threadIdx.x % WIDTH;
    int begin = blockIdx.x * chunk_rows;
    int end = min(rows, begin + chunk_rows);
    float sum = 0.0f;
    for (int row = begin; row < end; row++)
        sum += x[row * WIDTH + from] * dz[row * WIDTH + to];
    partial[blockIdx.x * WIDTH * WIDTH + threadIdx.x] = sum;
}

/* One block: weight -= rate * the sum of all chunks. */
extern "C" __global__ void weight_step(const float *partial, float *weight, int chunks,
                                       float rate)
{
    float sum = 0.0f;
    for (int chunk = 0; chunk < chunks; chunk++)
        sum += partial[chunk * WIDTH * WIDTH + threadIdx.x];
    weight[threadIdx.x] -= rate * sum;
}

/* ---- both ends ---- */

/* Uniform in [-1, 1), by a hash of the place. */
extern "C" __global__ void draw(float *x, int n, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned h = (unsigned)i * 0x9e3779b9u ^ seed;
        h = (h ^ h >> 16) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        x[i] = (float)(int)(h ^ h >> 16) / 2147483648.0f;
    }
}

/* What is wanted of the last layer is twice the first input. dy is the gradient of the mean of
 * squares. Each of the LOSSES blocks of 256 threads adds up its share of the squares. */
extern "C" __global__ void residual(const float *x, const float *y, float *dy, float *losses,
                                    int n)
{
    __shared__ float scratch[256];
    float squares = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float error = y[i] - 2.0f * x[i];
        dy[i] = 2.0f * error / n;
        squares += error * error;
    }
    scratch[threadIdx.x] = squares;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            scratch[threadIdx.x] += scratch[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        losses[blockIdx.x] = scratch[0];
}
