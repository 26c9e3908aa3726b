/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F 4 /* sizeof(float), and of int */

const struct kernel_case kernel_cases[] = {
    /* ---- matrices: two dimensions, each with its bound ---- */
    {"01_sgemm_tiled.ptx", "sgemm_tiled", {4, 5, 1}, {16, 16, 1}, "A B C 70 60 50 f1 f1",
     {READS('A', 0, 70 * 50 * F), READS('B', 0, 50 * 60 * F), READS('C', 0, 70 * 60 * F),
      WRITES('C', 0, 70 * 60 * F)}},
    {"01_sgemm_tiled.ptx", "sgemm_64x64", {2, 3, 1}, {256, 1, 1}, "A B C 192 128 32",
     {READS('A', 0, 192 * 32 * F), READS('B', 0, 32 * 128 * F), WRITES('C', 0, 192 * 128 * F)}},
    {"02_matmul_naive.ptx", "matmul_naive", {4, 5, 1}, {16, 16, 1}, "A B C 77 60 33",
     {READS('A', 0, 77 * 33 * F), READS('B', 0, 33 * 60 * F), WRITES('C', 0, 77 * 60 * F)}},
    {"02_matmul_naive.ptx", "matmul_naive", {4, 5, 1}, {16, 16, 1}, "A B C 77 60 0",
     {WRITES('C', 0, 77 * 60 * F)}},
    {"02_matmul_naive.ptx", "matmul_naive", {4, 5, 1}, {16, 16, 1}, "A B C 0 60 33", {{0}}},
    {"02_matmul_naive.ptx", "matmul_bias_relu", {4, 5, 1}, {16, 16, 1}, "A B D C 77 60 33",
     {READS('A', 0, 77 * 33 * F), READS('B', 0, 33 * 60 * F), READS('D', 0, 60 * F),
      WRITES('C', 0, 77 * 60 * F)}},
    {"02_matmul_naive.ptx", "matmul_tn", {4, 5, 1}, {16, 16, 1}, "A B C 77 60 33",
     {READS('A', 0, 77 * 33 * F), READS('B', 0, 33 * 60 * F), WRITES('C', 0, 77 * 60 * F)}},

    /* ---- a row a block, and what its first thread writes ---- */
    {"03_layernorm.ptx", "layernorm_fwd", {20, 1, 1}, {128, 1, 1}, "A B C D E G 300 f1",
     {READS('A', 0, 20 * 300 * F), READS('B', 0, 300 * F), READS('C', 0, 300 * F),
      WRITES('D', 0, 20 * 300 * F), WRITES('E', 0, 20 * F), WRITES('G', 0, 20 * F)}},
    {"03_layernorm.ptx", "layernorm_bwd", {20, 1, 1}, {32, 1, 1}, "A B C D E G H I 100",
     {READS('A', 0, 20 * 100 * F), READS('B', 0, 20 * 100 * F), READS('C', 0, 100 * F),
      READS('D', 0, 20 * F), READS('E', 0, 20 * F), WRITES('G', 0, 20 * 100 * F),
      ADDS('H', 0, 100 * F), ADDS('I', 0, 100 * F)}},
    {"04_softmax.ptx", "softmax_fwd", {5, 1, 1}, {128, 1, 1}, "A B 18 100",
     {READS('A', 0, 18 * 100 * F), WRITES('B', 0, 18 * 100 * F)}},
    {"04_softmax.ptx", "softmax_bwd", {18, 1, 1}, {32, 1, 1}, "A B C 18 77",
     {READS('A', 0, 18 * 77 * F), READS('B', 0, 18 * 77 * F), WRITES('C', 0, 18 * 77 * F)}},
    {"04_softmax.ptx", "online_softmax_fast", {18, 1, 1}, {32, 1, 1}, "A B 96",
     {READS('A', 0, 18 * 96 * F), WRITES('B', 0, 18 * 96 * F)}},

    /* ---- element by element ---- */
    {"05_gelu.ptx", "gelu_erf", {4, 1, 1}, {256, 1, 1}, "A B 1000",
     {READS('A', 0, 1000 * F), WRITES('B', 0, 1000 * F)}},
    {"05_gelu.ptx", "gelu_erf", {3, 1, 1}, {256, 1, 1}, "A B 1000", /* a launch that is too small */
     {READS('A', 0, 768 * F), WRITES('B', 0, 768 * F)}},
    {"05_gelu.ptx", "gelu_tanh", {3, 1, 1}, {256, 1, 1}, "A B 10000", /* a grid-stride loop */
     {READS('A', 0, 10000 * F), WRITES('B', 0, 10000 * F)}},
    {"05_gelu.ptx", "gelu_bwd", {4, 1, 1}, {256, 1, 1}, "A B C 1000",
     {READS('A', 0, 1000 * F), READS('B', 0, 1000 * F), WRITES('C', 0, 1000 * F)}},
    {"05_gelu.ptx", "acts", {4, 1, 1}, {256, 1, 1}, "A 1000 3",
     {READS('A', 0, 1000 * F), WRITES('A', 0, 1000 * F)}},
    {"06_dropout_philox.ptx", "dropout", {1, 1, 1}, {256, 1, 1}, "A B C 1000 f0.5 1 0",
     {MAY_READ('A', 0, 1000 * F), WRITES('B', 0, 1000 * F), WRITES('C', 0, 1000)}},
    {"06_dropout_philox.ptx", "dropout", {1, 1, 1}, {256, 1, 1}, "A B C 999 f0.5 1 0",
     {MAY_READ('A', 0, 999 * F), WRITES('B', 0, 999 * F), WRITES('C', 0, 999)}},
    {"08_adam.ptx", "adam", {4, 1, 1}, {256, 1, 1}, "A B C D 1000 f1 f1 f1 f1 f1 3",
     {READS('A', 0, 1000 * F), READS('B', 0, 1000 * F), READS('C', 0, 1000 * F),
      READS('D', 0, 1000 * F), WRITES('A', 0, 1000 * F), WRITES('C', 0, 1000 * F),
      WRITES('D', 0, 1000 * F)}},
    {"08_adam.ptx", "sgd_momentum", {4, 1, 1}, {256, 1, 1}, "A B C 1000 f1 f1",
     {READS('A', 0, 1000 * F), READS('B', 0, 1000 * F), READS('C', 0, 1000 * F),
      WRITES('A', 0, 1000 * F), WRITES('C', 0, 1000 * F)}},
    {"08_adam.ptx", "grad_norm_sq", {4, 1, 1}, {64, 1, 1}, "A B 1000",
     {READS('A', 0, 1000 * F), ADDS('B', 0, 8)}},
    {"14_half.ptx", "half_axpy", {4, 1, 1}, {256, 1, 1}, "A B 0 1000",
     {READS('A', 0, 2000), READS('B', 0, 2000), WRITES('B', 0, 2000)}},
    {"15_int8.ptx", "quant_int8", {4, 1, 1}, {256, 1, 1}, "A B C 1000",
     {READS('A', 0, 1000 * F), WRITES('B', 0, 1000), READS('C', 0, F)}},
    {"15_int8.ptx", "gemm_dp4a", {4, 5, 1}, {16, 16, 1}, "A B C 77 60 10",
     {READS('A', 0, 77 * 10 * F), READS('B', 0, 60 * 10 * F), WRITES('C', 0, 77 * 60 * F)}},
    {"15_int8.ptx", "bits", {4, 1, 1}, {256, 1, 1}, "A B 1000",
     {READS('A', 0, 4000), WRITES('A', 0, 4000), READS('B', 0, 8000), WRITES('B', 0, 8000)}},

    /* ---- tiles of a warp ---- */
    {"16_wmma.ptx", "wmma_gemm", {2, 3, 1}, {64, 1, 1}, "A B C 64 32",
     {READS('A', 0, 48 * 32 * 2), READS('B', 0, 32 * 64 * 2), WRITES('C', 0, 48 * 64 * F)}},
    {"16_wmma.ptx", "wmma_gemm", {1, 1, 1}, {32, 1, 1}, "A B C 16 48",
     {READS('A', 0, 16 * 48 * 2), READS('B', 0, 48 * 16 * 2), WRITES('C', 0, 16 * 16 * F)}},

    /* ---- indices from memory ---- */
    {"07_embedding.ptx", "embed_gather", {8, 1, 1}, {128, 1, 1}, "A B C 50 20",
     {READS_IN('A'), MAY_READ('B', 0, 50 * 8), WRITES('C', 0, 50 * 20 * F)}},
    {"07_embedding.ptx", "embed_scatter_add", {8, 1, 1}, {128, 1, 1}, "A B C 50 20",
     {ADDS_IN('A'), READS('B', 0, 50 * 8), READS('C', 0, 50 * 20 * F)}},

    /* ---- reductions ---- */
    {"13_reduce.ptx", "reduce_sum", {6, 1, 1}, {128, 1, 1}, "A B 3000",
     {READS('A', 0, 3000 * F), WRITES('B', 0, 6 * F)}},
    {"13_reduce.ptx", "col_sum", {2, 1, 1}, {64, 1, 1}, "A B 50 100",
     {READS('A', 0, 50 * 100 * F), WRITES('B', 0, 100 * F)}},
    {"13_reduce.ptx", "scan_block", {1, 1, 1}, {512, 1, 1}, "A B 400",
     {READS('A', 0, 400 * F), WRITES('B', 0, 400 * F)}},
    {"13_reduce.ptx", "transpose", {3, 2, 1}, {32, 8, 1}, "A B 64 96",
     {READS('A', 0, 64 * 96 * F), WRITES('B', 0, 64 * 96 * F)}},
    {"13_reduce.ptx", "transpose", {4, 2, 1}, {32, 8, 1}, "A B 64 100",
     {READS('A', 0, 64 * 100 * F), WRITES('B', 0, 64 * 100 * F)}},

    /* ---- the digits example ---- */
    {"digits.ptx", "dense_forward", {4, 4, 1}, {16, 16, 1}, "A B C D 50 64 60",
     {READS('A', 0, 50 * 64 * F), READS('B', 0, 64 * 60 * F), READS('C', 0, 60 * F),
      WRITES('D', 0, 50 * 60 * F)}},
    {"digits.ptx", "dense_backward_input", {4, 4, 1}, {16, 16, 1}, "A B C 50 64 60",
     {READS('A', 0, 50 * 60 * F), READS('B', 0, 64 * 60 * F), WRITES('C', 0, 50 * 64 * F)}},
    {"digits.ptx", "dense_backward_weight", {4, 4, 1}, {16, 16, 1}, "A B C 50 64 60",
     {READS('A', 0, 50 * 64 * F), READS('B', 0, 50 * 60 * F), READS('C', 0, 64 * 60 * F),
      WRITES('C', 0, 64 * 60 * F)}},
    {"digits.ptx", "dense_backward_bias", {1, 1, 1}, {64, 1, 1}, "A B 50 60",
     {READS('A', 0, 50 * 60 * F), READS('B', 0, 60 * F), WRITES('B', 0, 60 * F)}},
    {"digits.ptx", "bn_batch_stats", {1, 1, 1}, {64, 1, 1}, "A B C 50 60",
     {READS('A', 0, 50 * 60 * F), WRITES('B', 0, 60 * F), WRITES('C', 0, 60 * F)}},
    {"digits.ptx", "bn_update_running", {1, 1, 1}, {64, 1, 1}, "A B C D E 50 60 f1",
     {READS('A', 0, 60 * F), READS('B', 0, 60 * F), READS('C', 0, 60 * F), WRITES('C', 0, 60 * F),
      READS('D', 0, 60 * F), WRITES('D', 0, 60 * F), READS('E', 0, 8), WRITES('E', 0, 8)}},
    {"digits.ptx", "bn_relu_forward", {4, 4, 1}, {16, 16, 1}, "A B C D E G 50 60 f1",
     {READS('A', 0, 50 * 60 * F), READS('B', 0, 60 * F), READS('C', 0, 60 * F),
      READS('D', 0, 60 * F), READS('E', 0, 60 * F), WRITES('G', 0, 50 * 60 * F)}},
    {"digits.ptx", "bn_relu_backward", {1, 1, 1}, {64, 1, 1}, "A B C D E G H I J 50 60 f1",
     {READS('A', 0, 50 * 60 * F), READS('B', 0, 50 * 60 * F), READS('C', 0, 60 * F),
      READS('D', 0, 60 * F), READS('E', 0, 60 * F), MAY_READ('G', 0, 50 * 60 * F),
      WRITES('H', 0, 50 * 60 * F), READS('I', 0, 60 * F), WRITES('I', 0, 60 * F),
      READS('J', 0, 60 * F), WRITES('J', 0, 60 * F)}},
    {"digits.ptx", "dropout_forward", {4, 1, 1}, {256, 1, 1}, "A B C D 1000 f1",
     {MAY_READ('A', 0, 1000 * F), WRITES('B', 0, 1000 * F), WRITES('C', 0, 1000),
      READS('D', 0, 16)}},
    {"digits.ptx", "dropout_backward", {4, 1, 1}, {256, 1, 1}, "A B C 1000 f1",
     {MAY_READ('A', 0, 1000 * F), READS('B', 0, 1000), WRITES('C', 0, 1000 * F)}},
    {"digits.ptx", "philox_advance", {1, 1, 1}, {32, 1, 1}, "A 4096",
     {READS('A', 8, 16), WRITES('A', 8, 16)}},
    {"digits.ptx", "normalize_rows", {50, 1, 1}, {32, 1, 1}, "A B C 100",
     {READS('A', 0, 50 * 100 * F), WRITES('B', 0, 50 * 100 * F), WRITES('C', 0, 50 * F)}},
    {"digits.ptx", "normalize_rows_backward", {50, 1, 1}, {32, 1, 1}, "A B C D 10 f1",
     {READS('A', 0, 50 * 10 * F), READS('B', 0, 50 * F), READS('C', 0, 50 * 10 * F),
      WRITES('D', 0, 50 * 10 * F)}},
    {"digits.ptx", "queue_logits", {8, 4, 1}, {16, 16, 1}, "A B C 50 128 64 f1",
     {READS('A', 0, 50 * 64 * F), READS('B', 0, 128 * 64 * F), WRITES('C', 0, 50 * 128 * F)}},
    {"digits.ptx", "contrast_loss", {50, 1, 1}, {128, 1, 1}, "A B C D E 300",
     {READS('A', 0, 50 * 300 * F), READS('B', 0, 50 * F), READS('C', 0, 300 * F),
      WRITES('D', 0, 50 * F), WRITES('E', 0, 50 * 300 * F)}},
    {"digits.ptx", "queue_pull", {4, 4, 1}, {16, 16, 1}, "A B C 50 128 64 f1",
     {READS('A', 0, 50 * 128 * F), READS('B', 0, 128 * 64 * F), WRITES('C', 0, 50 * 64 * F)}},
    {"digits.ptx", "enqueue_keys", {4, 4, 1}, {16, 16, 1}, "A B C D 128 50 64",
     {READS('A', 0, 50 * 64 * F), READS('B', 0, 50 * F),
      WRITES('C', 128 * 64 * F, (128 + 50) * 64 * F), WRITES('D', 128 * F, (128 + 50) * F)}},
    {"digits.ptx", "count_classes", {4, 1, 1}, {256, 1, 1}, "A B 1000",
     {READS('A', 0, 1000 * F), ADDS_IN('B')}},
    {"digits.ptx", "softmax_xent", {4, 1, 1}, {32, 1, 1}, "A B C D 100 10",
     {READS('A', 0, 100 * 10 * F), READS_IN('A'), READS('B', 0, 100 * F), WRITES('C', 0, 100 * F),
      WRITES('D', 0, 100 * 10 * F)}},
    {"digits.ptx", "mean_loss", {1, 1, 1}, {128, 1, 1}, "A B C 300 f1",
     {READS('A', 0, 300 * F), READS('B', 0, 300 * F), WRITES('C', 0, F)}},
    {"digits.ptx", "accumulate", {4, 1, 1}, {256, 1, 1}, "A B 1000",
     {READS('A', 0, 1000 * F), READS('B', 0, 1000 * F), WRITES('B', 0, 1000 * F)}},
    {"digits.ptx", "adam_step", {4, 1, 1}, {256, 1, 1}, "A B C D 1000 f1 f1 f1 f1",
     {READS('A', 0, 1000 * F), READS('B', 0, 1000 * F), READS('C', 0, 1000 * F),
      READS('D', 0, 1000 * F), WRITES('A', 0, 1000 * F), WRITES('C', 0, 1000 * F),
      WRITES('D', 0, 1000 * F)}},
};

const size_t kernel_case_count = sizeof(kernel_cases) / sizeof(kernel_cases[0]);

const char *kernel_case_path(const struct kernel_case *at, char path[512])
{
    const char *kernels = getenv("KERNELS"), *digits = getenv("DIGITS");
    if (!strcmp(at->file, "digits.ptx"))
        snprintf(path, 512, "%s/kernels.ptx", digits ? digits : "examples/digits");
    else
        snprintf(path, 512, "%s/%s", kernels ? kernels : "tests/kernels", at->file);
    return path;
}
