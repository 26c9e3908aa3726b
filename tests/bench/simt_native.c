/* SPDX-License-Identifier: Apache-2.0 */
/* What the matrix product of simt_bench is compared with: plain loops, built with -O2. */
void native_matmul(const float *a, const float *b, float *c, int m, int n, int k);

void native_matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
    }
}
