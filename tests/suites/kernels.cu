/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of small networks and their derivatives, in double, one block, a thread an element.
 *
 * Forward: y from x, parameters w and state s; what the backward needs of the state is saved as
 * a factor a[i], because the state itself moves on. Backward: dx and dw from dy. */

#define N(i) int i = threadIdx.x; if (i < n)
#define KERNEL extern "C" __global__ void

static __device__ __forceinline__ unsigned mix(unsigned value)
{
    value = (value ^ (value >> 16)) * 0x7feb352du;
    value = (value ^ (value >> 15)) * 0x846ca68bu;
    return value ^ (value >> 16);
}

/* Numbers from -1 to 1 in steps of 2^-31, exact. */
KERNEL numbers(double *x, unsigned seed, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = (double)(int)mix(mix(seed) + i) / 2147483648.0;
}

/* ---- layers ---- */

KERNEL scale(const double *x, double *y, const double *w, int n)
{
    N(i) y[i] = w[i] * x[i];
}

KERNEL scale_back(const double *x, const double *dy, double *dx, const double *w, double *dw, int n)
{
    N(i) {
        dw[i] += x[i] * dy[i];
        dx[i] = w[i] * dy[i];
    }
}

KERNEL dense(const double *x, double *y, const double *w, int n)
{
    N(i) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += w[i * n + j] * x[j];
        y[i] = sum / n;
    }
}

KERNEL dense_back(const double *x, const double *dy, double *dx, const double *w, double *dw, int n)
{
    N(i) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            sum += w[j * n + i] * dy[j];
            dw[i * n + j] += dy[i] * x[j] / n;
        }
        dx[i] = sum / n;
    }
}

KERNEL bend(const double *x, double *y, int n)
{
    N(i) y[i] = x[i] / sqrt(1.0 + x[i] * x[i]);
}

KERNEL bend_back(const double *x, const double *dy, double *dx, int n)
{
    N(i) {
        double square = 1.0 + x[i] * x[i];
        dx[i] = dy[i] / (square * sqrt(square));
    }
}

KERNEL curve(const double *x, double *y, int n)
{
    N(i) y[i] = x[i] + 0.25 * x[i] / (1.0 + x[i] * x[i]);
}

KERNEL curve_back(const double *x, const double *dy, double *dx, int n)
{
    N(i) {
        double square = x[i] * x[i], below = 1.0 + square;
        dx[i] = dy[i] * (1.0 + 0.25 * (1.0 - square) / (below * below));
    }
}

KERNEL shift_in_place(double *x, const double *w, int n)
{
    N(i) x[i] += w[i];
}

KERNEL shift_back(const double *dy, double *dx, double *dw, int n)
{
    N(i) {
        dw[i] += dy[i];
        dx[i] = dy[i];
    }
}

/* ---- layers with state; each one's derivative is the factor that it saved ---- */

KERNEL running(const double *x, double *y, double *a, double *s, int n)
{
    double old = s[0];
    __syncthreads();
    N(i) {
        a[i] = 1.0 / (1.0 + old * old);
        y[i] = x[i] * a[i];
    }
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += x[j];
        s[0] = old * 0.75 + sum / n;
    }
}

KERNEL queue(const double *x, double *y, double *a, double *s, int row, int n)
{
    N(i) {
        a[i] = 1.0 + s[row * n + i] * 0.25;
        y[i] = x[i] * a[i];
        s[row * n + i] = x[i];
    }
}

/* The row is in device memory, behind the rows. */
KERNEL queue_by_index(const double *x, double *y, double *a, double *s, int rows, int n)
{
    int row = (int)s[rows * n];
    __syncthreads();
    N(i) {
        a[i] = 1.0 + s[row * n + i] * 0.25;
        y[i] = x[i] * a[i];
        s[row * n + i] = x[i];
    }
    if (threadIdx.x == 0)
        s[rows * n] = (row + 1) % rows;
}

KERNEL counter(const double *x, double *y, double *a, double *s, int n)
{
    double old = s[0];
    __syncthreads();
    N(i) {
        a[i] = 1.0 + 1.0 / (2.0 + old);
        y[i] = x[i] * a[i];
    }
    if (threadIdx.x == 0)
        s[0] = old + 1.0;
}

/* s[0] is the seed, s[1] the offset. */
KERNEL dropout(const double *x, double *y, double *a, double *s, int n)
{
    double seed = s[0], offset = s[1];
    __syncthreads();
    N(i) {
        unsigned drawn = mix(mix((unsigned)seed) + (unsigned)offset + i);
        a[i] = drawn & 3u ? 1.25 : 0.0;
        y[i] = x[i] * a[i];
    }
    if (threadIdx.x == 0) {
        s[0] = seed;
        s[1] = offset + n;
    }
}

KERNEL factor_back(const double *a, const double *dy, double *dx, int n)
{
    N(i) dx[i] = a[i] * dy[i];
}

/* ---- the step ---- */

KERNEL descend(double *w, const double *dw, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        w[i] -= dw[i] * 0.03125;
}

KERNEL tag(double *s)
{
}
