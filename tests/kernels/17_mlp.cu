// SPDX-License-Identifier: Apache-2.0
// What a two-layer perceptron needs beside the products of 02 and the Adam of 08.

// C = A B^T; A is M x K, B is N x K.
extern "C" __global__ void matmul_nt(const float *a, const float *b, float *c, int m, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n)
        return;
    float s = 0;
    for (int l = 0; l < k; l++)
        s += a[i * k + l] * b[j * k + l];
    c[i * n + j] = s;
}

// A thread a row: the gradient of the mean cross entropy, and each row's loss.
extern "C" __global__ void cross_entropy(const float *logits, const int *label, float *gradient,
                                         float *loss, int rows, int classes)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = logits + row * classes;
    float top = x[0], sum = 0;
    for (int c = 1; c < classes; c++)
        top = fmaxf(top, x[c]);
    for (int c = 0; c < classes; c++)
        sum += expf(x[c] - top);
    for (int c = 0; c < classes; c++)
        gradient[row * classes + c] = (expf(x[c] - top) / sum - (c == label[row])) / rows;
    loss[row] = logf(sum) + top - x[label[row]];
}

extern "C" __global__ void relu_backward(const float *y, float *gradient, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !(y[i] > 0))
        gradient[i] = 0;
}
