// SPDX-License-Identifier: Apache-2.0
// A warp for each 16 x 16 tile of C = A B, by the tensor units.
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void wmma_gemm(const half *a, const half *b, float *c, int n, int k)
{
    int row = blockIdx.y * 16, column = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        fragment<matrix_a, 16, 16, 16, half, row_major> left;
        fragment<matrix_b, 16, 16, 16, half, row_major> right;
        load_matrix_sync(left, a + row * k + i, k);
        load_matrix_sync(right, b + i * n + column, n);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + row * n + column, sum, n, mem_row_major);
}
