/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the digits example. Matrices are row-major, a batch has one sample a row.
 *
 * No result depends on the order of threads: sums run in a fixed order inside one thread or
 * over a fixed tree inside one block, and the only atomics count integers. */

static __device__ float warp_sum(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

/* Reduces one value a thread over a block of 128; every thread gets the result. */
static __device__ float block_sum(float *scratch, float value)
{
    int t = threadIdx.x;
    scratch[t] = value;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            scratch[t] += scratch[t + half];
        __syncthreads();
    }
    value = scratch[0];
    __syncthreads();
    return value;
}

static __device__ float block_max(float *scratch, float value)
{
    int t = threadIdx.x;
    scratch[t] = value;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half)
            scratch[t] = fmaxf(scratch[t], scratch[t + half]);
        __syncthreads();
    }
    value = scratch[0];
    __syncthreads();
    return value;
}

/* ---- dense layers: y = x W + b, W is inputs x outputs ---- */

extern "C" __global__ void dense_forward(const float *x, const float *weight, const float *bias,
                                         float *y, int rows, int inputs, int outputs)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < outputs) {
        float sum = bias[column];
        for (int k = 0; k < inputs; k++)
            sum += x[row * inputs + k] * weight[k * outputs + column];
        y[row * outputs + column] = sum;
    }
}

extern "C" __global__ void dense_backward_input(const float *dy, const float *weight, float *dx,
                                                int rows, int inputs, int outputs)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < inputs) {
        float sum = 0.0f;
        for (int k = 0; k < outputs; k++)
            sum += dy[row * outputs + k] * weight[column * outputs + k];
        dx[row * inputs + column] = sum;
    }
}

/* Gradients of parameters accumulate; the step clears them first. */
extern "C" __global__ void dense_backward_weight(const float *x, const float *dy, float *dweight,
                                                 int rows, int inputs, int outputs)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int input = blockIdx.y * blockDim.y + threadIdx.y;
    if (input < inputs && column < outputs) {
        float sum = 0.0f;
        for (int row = 0; row < rows; row++)
            sum += x[row * inputs + input] * dy[row * outputs + column];
        dweight[input * outputs + column] += sum;
    }
}

extern "C" __global__ void dense_backward_bias(const float *dy, float *dbias, int rows,
                                               int outputs)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < outputs) {
        float sum = 0.0f;
        for (int row = 0; row < rows; row++)
            sum += dy[row * outputs + column];
        dbias[column] += sum;
    }
}

/* ---- batch normalisation, followed by max(0, .) ---- */

extern "C" __global__ void bn_batch_stats(const float *x, float *mean, float *variance, int rows,
                                          int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        float sum = 0.0f;
        for (int row = 0; row < rows; row++)
            sum += x[row * columns + column];
        float centre = sum / rows;
        float squares = 0.0f;
        for (int row = 0; row < rows; row++) {
            float distance = x[row * columns + column] - centre;
            squares += distance * distance;
        }
        mean[column] = centre;
        variance[column] = squares / rows;
    }
}

/* running = (1 - momentum) running + momentum batch, with the unbiased batch variance. */
extern "C" __global__ void bn_update_running(const float *mean, const float *variance,
                                             float *running_mean, float *running_variance,
                                             long long *batches, int rows, int columns,
                                             float momentum)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        float unbiased = variance[column] * rows / (rows - 1);
        running_mean[column] += momentum * (mean[column] - running_mean[column]);
        running_variance[column] += momentum * (unbiased - running_variance[column]);
    }
    if (column == 0)
        *batches += 1;
}

/* Serves training with the batch's statistics and evaluation with the running ones. */
extern "C" __global__ void bn_relu_forward(const float *x, const float *mean,
                                           const float *variance, const float *gamma,
                                           const float *beta, float *y, int rows, int columns,
                                           float epsilon)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        float scale = 1.0f / sqrtf(variance[column] + epsilon);
        float normal = (x[row * columns + column] - mean[column]) * scale;
        y[row * columns + column] = fmaxf(gamma[column] * normal + beta[column], 0.0f);
    }
}

/* `y` is the forward output: where it is 0, the rectifier lets no gradient pass. */
extern "C" __global__ void bn_relu_backward(const float *x, const float *y, const float *mean,
                                            const float *variance, const float *gamma,
                                            const float *dy, float *dx, float *dgamma,
                                            float *dbeta, int rows, int columns, float epsilon)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column < columns) {
        float centre = mean[column];
        float scale = 1.0f / sqrtf(variance[column] + epsilon);
        float sum = 0.0f;
        float sum_normal = 0.0f;
        for (int row = 0; row < rows; row++) {
            int i = row * columns + column;
            float gradient = y[i] > 0.0f ? dy[i] : 0.0f;
            sum += gradient;
            sum_normal += gradient * (x[i] - centre) * scale;
        }
        for (int row = 0; row < rows; row++) {
            int i = row * columns + column;
            float gradient = y[i] > 0.0f ? dy[i] : 0.0f;
            float normal = (x[i] - centre) * scale;
            dx[i] = gamma[column] * scale * (gradient - (sum + normal * sum_normal) / rows);
        }
        dgamma[column] += sum_normal;
        dbeta[column] += sum;
    }
}

/* ---- dropout; the generator is {seed, offset} in device memory ---- */

/* Philox 4x32-10: four words for each 128-bit counter. */
static __device__ uint4 philox(unsigned long long seed, unsigned long long counter)
{
    uint4 c = make_uint4((unsigned)counter, (unsigned)(counter >> 32), 0, 0);
    unsigned k0 = (unsigned)seed;
    unsigned k1 = (unsigned)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x);
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z);
        c = make_uint4(high1 ^ c.y ^ k0, 0xCD9E8D57u * c.z, high0 ^ c.w ^ k1, 0xD2511F53u * c.x);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

/* Element i takes word i % 4 of counter offset + i / 4. */
extern "C" __global__ void dropout_forward(const float *x, float *y, unsigned char *kept,
                                           const unsigned long long *generator, int n, float keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uint4 words = philox(generator[0], generator[1] + i / 4);
        unsigned low = i & 1 ? words.y : words.x;
        unsigned high = i & 1 ? words.w : words.z;
        float uniform = ((i & 2 ? high : low) >> 8) * (1.0f / 16777216.0f);
        int keeps = uniform < keep;
        kept[i] = (unsigned char)keeps;
        y[i] = keeps ? x[i] / keep : 0.0f;
    }
}

extern "C" __global__ void dropout_backward(const float *dy, const unsigned char *kept, float *dx,
                                            int n, float keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        dx[i] = kept[i] ? dy[i] / keep : 0.0f;
}

/* Moves the generator past the counters that one dropout took. One thread. */
extern "C" __global__ void philox_advance(unsigned long long *generator, unsigned long long count)
{
    if (threadIdx.x == 0)
        generator[1] += count;
}

/* ---- the contrastive head: unit keys against a queue of earlier keys ---- */

/* One warp a row. */
extern "C" __global__ void normalize_rows(const float *x, float *y, float *norms, int columns)
{
    int row = blockIdx.x;
    float squares = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 32)
        squares += x[row * columns + k] * x[row * columns + k];
    float norm = sqrtf(warp_sum(squares) + 1e-12f);
    for (int k = threadIdx.x; k < columns; k += 32)
        y[row * columns + k] = x[row * columns + k] / norm;
    if (threadIdx.x == 0)
        norms[row] = norm;
}

extern "C" __global__ void normalize_rows_backward(const float *y, const float *norms,
                                                   const float *dy, float *dx, int columns,
                                                   float scale)
{
    int row = blockIdx.x;
    float along = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 32)
        along += y[row * columns + k] * dy[row * columns + k];
    along = warp_sum(along);
    for (int k = threadIdx.x; k < columns; k += 32) {
        int i = row * columns + k;
        dx[i] = scale * (dy[i] - y[i] * along) / norms[row];
    }
}

extern "C" __global__ void queue_logits(const float *keys, const float *queue, float *logits,
                                        int rows, int queue_rows, int columns, float sharpness)
{
    int other = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && other < queue_rows) {
        float sum = 0.0f;
        for (int k = 0; k < columns; k++)
            sum += keys[row * columns + k] * queue[other * columns + k];
        logits[row * queue_rows + other] = sharpness * sum;
    }
}

/* Supervised contrastive loss: keys of the row's own class in the queue attract, all others
 * repel; a row without any has no loss. `residual` is the gradient by the logits. One block
 * of 128 threads a row. */
extern "C" __global__ void contrast_loss(const float *logits, const int *labels,
                                         const int *queue_labels, float *losses, float *residual,
                                         int queue_rows)
{
    __shared__ float scratch[128];
    int row = blockIdx.x;
    int label = labels[row];
    float largest = -INFINITY;
    float own = 0.0f;
    float own_sum = 0.0f;
    for (int k = threadIdx.x; k < queue_rows; k += blockDim.x) {
        float logit = logits[row * queue_rows + k];
        largest = fmaxf(largest, logit);
        if (queue_labels[k] == label) {
            own += 1.0f;
            own_sum += logit;
        }
    }
    largest = block_max(scratch, largest);
    own = block_sum(scratch, own);
    own_sum = block_sum(scratch, own_sum);

    float sum = 0.0f;
    for (int k = threadIdx.x; k < queue_rows; k += blockDim.x)
        sum += expf(logits[row * queue_rows + k] - largest);
    sum = block_sum(scratch, sum);

    float active = own > 0.0f ? 1.0f : 0.0f;
    float share = 1.0f / fmaxf(own, 1.0f);
    for (int k = threadIdx.x; k < queue_rows; k += blockDim.x) {
        float probability = expf(logits[row * queue_rows + k] - largest) / sum;
        float target = queue_labels[k] == label ? share : 0.0f;
        residual[row * queue_rows + k] = active * (probability - target);
    }
    if (threadIdx.x == 0)
        losses[row] = active * (largest + logf(sum) - own_sum * share);
}

/* The gradient by the keys, taken in the forward pass while the queue is still the one that
 * the logits saw. */
extern "C" __global__ void queue_pull(const float *residual, const float *queue, float *pull,
                                      int rows, int queue_rows, int columns, float sharpness)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        float sum = 0.0f;
        for (int k = 0; k < queue_rows; k++)
            sum += residual[row * queue_rows + k] * queue[k * columns + column];
        pull[row * columns + column] = sharpness * sum;
    }
}

/* Writes `rows` keys and labels into the queue from its row `at` on; never wraps around. */
extern "C" __global__ void enqueue_keys(const float *keys, const int *labels, float *queue,
                                        int *queue_labels, int at, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns)
        queue[(at + row) * columns + column] = keys[row * columns + column];
    if (row < rows && column == 0)
        queue_labels[at + row] = labels[row];
}

extern "C" __global__ void count_classes(const int *labels, int *seen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&seen[labels[i]], 1);
}

/* ---- classifier loss, sums, optimiser ---- */

/* One thread a row. `dlogits` is the gradient of the mean loss of the batch. */
extern "C" __global__ void softmax_xent(const float *logits, const int *labels, float *losses,
                                        float *dlogits, int rows, int classes)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float largest = -INFINITY;
        for (int k = 0; k < classes; k++)
            largest = fmaxf(largest, logits[row * classes + k]);
        float sum = 0.0f;
        for (int k = 0; k < classes; k++)
            sum += expf(logits[row * classes + k] - largest);
        for (int k = 0; k < classes; k++) {
            float probability = expf(logits[row * classes + k] - largest) / sum;
            float target = k == labels[row] ? 1.0f : 0.0f;
            dlogits[row * classes + k] = (probability - target) / rows;
        }
        losses[row] = largest + logf(sum) - logits[row * classes + labels[row]];
    }
}

/* The step's loss: mean(a) + weight mean(b). One block of 128 threads. */
extern "C" __global__ void mean_loss(const float *a, const float *b, float *loss, int rows,
                                     float weight)
{
    __shared__ float scratch[128];
    float sum = 0.0f;
    for (int row = threadIdx.x; row < rows; row += blockDim.x)
        sum += a[row] + weight * b[row];
    sum = block_sum(scratch, sum);
    if (threadIdx.x == 0)
        *loss = sum / rows;
}

extern "C" __global__ void accumulate(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += x[i];
}

/* `rate` already holds the correction for the young moments. */
extern "C" __global__ void adam_step(float *parameters, const float *gradients, float *first,
                                     float *second, int n, float rate, float beta1, float beta2,
                                     float epsilon)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float gradient = gradients[i];
        float m = beta1 * first[i] + (1.0f - beta1) * gradient;
        float v = beta2 * second[i] + (1.0f - beta2) * gradient * gradient;
        first[i] = m;
        second[i] = v;
        parameters[i] -= rate * m / (sqrtf(v) + epsilon);
    }
}
