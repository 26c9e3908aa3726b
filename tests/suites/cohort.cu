/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the cohort's jobs in CUDA C, which each of them compiles with NVRTC. */
extern "C" {
__global__ void linear(const float *x, const float *weight, float *u, int rows, int width, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * out)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++)
        sum += x[at / out * width + k] * weight[k * out + at % out];
    u[at] = sum;
}

__global__ void relu(const float *u, float *h, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] > 0 ? u[at] : 0;
}

/* Decaying mean of the columns of u, in the first row of the state; `absolute` takes |u|. */
__global__ void follow(const float *u, float *state, float decay, int rows, int out, int absolute)
{
    const int at = threadIdx.x;
    if (at >= out)
        return;
    float sum = 0;
    for (int row = 0; row < rows; row++)
        sum += absolute ? fabsf(u[row * out + at]) : u[row * out + at];
    state[at] = decay * state[at] + (1 - decay) * sum / rows;
}

__global__ void centre(const float *u, const float *mean, float *h, int n, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] - mean[at % out];
}

__global__ void divide(const float *u, const float *scale, float *h, int n, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] / (scale[at % out] + 0.5f);
}

__global__ void sum_columns(const float *h, float *seen, int rows, int out)
{
    const int at = threadIdx.x;
    for (int row = 0; at < out && row < rows; row++)
        seen[at] += h[row * out + at];
}

__global__ void lower(float *kept, float by, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        kept[at] = fmaxf(kept[at] - by, 0);
}

__global__ void scaled(const float *x, float *to, float by, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        to[at] = by * x[at];
}

/* A counter-based generator: words 0 and 1 are the seed and the counter. */
__global__ void dropout(const unsigned *generator, const float *u, float *h, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    unsigned bits = (generator[0] ^ (generator[1] + at) * 2654435761u) * 2246822519u;
    bits = (bits ^ bits >> 15) * 3266489917u;
    h[at] = (bits ^ bits >> 16) >> 30 ? u[at] : 0;
}

__global__ void advance(unsigned *generator, unsigned by)
{
    generator[1] += by;
}

/* Softmax and cross entropy over the head: loss a row, slopes of h, and of the logits. */
__global__ void head_slopes(const float *h, const float *head, const int *y, float *loss, float *g,
                            float *logit_slopes, int rows, int out, int classes)
{
    const int row = threadIdx.x;
    if (row >= rows)
        return;
    float logits[16], most = -1e30f, sum = 0;
    for (int c = 0; c < classes; c++) {
        logits[c] = 0;
        for (int k = 0; k < out; k++)
            logits[c] += h[row * out + k] * head[k * classes + c];
        most = fmaxf(most, logits[c]);
    }
    for (int c = 0; c < classes; c++)
        sum += expf(logits[c] - most);
    loss[row] = logf(sum) + most - logits[y[row]];
    for (int c = 0; c < classes; c++)
        logit_slopes[row * classes + c] =
            (expf(logits[c] - most) / sum - (c == y[row])) / rows;
    for (int k = 0; k < out; k++) {
        g[row * out + k] = 0;
        for (int c = 0; c < classes; c++)
            g[row * out + k] += logit_slopes[row * classes + c] * head[k * classes + c];
    }
}

/* velocity = momentum * velocity + rate * x^T slopes, where a mask is given only through its
 * positive elements, and the weight goes against it. */
__global__ void descend(float *weight, float *velocity, const float *x, const float *slopes,
                        const float *mask, float rate, float momentum, int rows, int width, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= width * out)
        return;
    float sum = 0;
    for (int row = 0; row < rows; row++)
        if (!mask || mask[row * out + at % out] > 0)
            sum += x[row * width + at / out] * slopes[row * out + at % out];
    velocity[at] = momentum * velocity[at] + rate * sum;
    weight[at] -= velocity[at];
}
}
