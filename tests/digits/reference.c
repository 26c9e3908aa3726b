/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include "host.h"

#include <math.h>
#include <stdbool.h>

static const int size[BLOCKS + 1] = {PIXELS, 128, 96};

void reference_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (uint32_t round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0;
        uint64_t b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ (key[0] + round * 0x9E3779B9u);
        c2 = (uint32_t)(a >> 32) ^ c3 ^ (key[1] + round * 0xBB67AE85u);
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static bool keeps(const struct reference *reference, uint64_t offset, int element)
{
    uint64_t at = offset + (uint64_t)element / 4;
    uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)reference->seed, (uint32_t)(reference->seed >> 32)};
    uint32_t words[4];
    reference_philox(counter, key, words);
    return (words[element % 4] >> 8) < (uint32_t)ceil((double)KEEP * 16777216.0);
}

/* y = x W + b; moves *parameters behind what it took. */
static void dense(const double **parameters, const double *x, double *y, int rows, int inputs,
                  int outputs)
{
    const double *weight = *parameters;
    const double *bias = weight + inputs * outputs;
    for (int row = 0; row < rows; row++)
        for (int j = 0; j < outputs; j++) {
            double sum = bias[j];
            for (int i = 0; i < inputs; i++)
                sum += x[row * inputs + i] * weight[i * outputs + j];
            y[row * outputs + j] = sum;
        }
    *parameters = bias + outputs;
}

static void batch_statistics(const double *x, int rows, int columns, double *mean,
                             double *variance)
{
    for (int j = 0; j < columns; j++) {
        double sum = 0.0, squares = 0.0;
        for (int row = 0; row < rows; row++)
            sum += x[row * columns + j];
        mean[j] = sum / rows;
        for (int row = 0; row < rows; row++)
            squares += pow(x[row * columns + j] - mean[j], 2.0);
        variance[j] = squares / rows;
    }
}

/* In place; moves *parameters behind gamma and beta. */
static void normalise_and_rectify(const double **parameters, double *x, int rows, int columns,
                                  const double *mean, const double *variance)
{
    const double *gamma = *parameters;
    const double *beta = gamma + columns;
    for (int i = 0; i < rows * columns; i++) {
        int j = i % columns;
        double normal = (x[i] - mean[j]) / sqrt(variance[j] + (double)BN_EPSILON);
        x[i] = fmax(gamma[j] * normal + beta[j], 0.0);
    }
    *parameters = beta + columns;
}

/* log(sum(exp(x))) */
static double log_sum(const double *x, int count)
{
    double largest = x[0], sum = 0.0;
    for (int i = 1; i < count; i++)
        largest = fmax(largest, x[i]);
    for (int i = 0; i < count; i++)
        sum += exp(x[i] - largest);
    return largest + log(sum);
}

static double contrast(const struct reference *reference, double *key, int label)
{
    double length = 0.0;
    for (int i = 0; i < KEY_SIZE; i++)
        length += key[i] * key[i];
    for (int i = 0; i < KEY_SIZE; i++)
        key[i] /= sqrt(length);

    double logits[QUEUE_ROWS], own = 0.0;
    int count = 0;
    for (int k = 0; k < QUEUE_ROWS; k++) {
        logits[k] = 0.0;
        for (int i = 0; i < KEY_SIZE; i++)
            logits[k] += (double)SHARPNESS * key[i] * reference->queue[k][i];
        if (reference->queue_labels[k] == label) {
            own += logits[k];
            count++;
        }
    }
    return count == 0 ? 0.0 : log_sum(logits, QUEUE_ROWS) - own / count;
}

static double *copy_pixels(const struct reference *reference)
{
    double *x = host_alloc((size_t)reference->rows * PIXELS, sizeof *x);
    for (int i = 0; i < reference->rows * PIXELS; i++)
        x[i] = (double)reference->pixels[i];
    return x;
}

/* One block of a training step, from x, which it frees, to its output. *offset moves past the
 * Philox counters that it took. */
static double *train_block(struct reference *reference, const double **parameters, double *x,
                           int i, uint64_t *offset)
{
    int rows = reference->rows, columns = size[i + 1];
    double *mean = reference->mean + (i == 0 ? 0 : size[1]);
    double *variance = reference->variance + (i == 0 ? 0 : size[1]);
    double *y = host_alloc((size_t)(rows * columns), sizeof *y);
    dense(parameters, x, y, rows, size[i], columns);
    free(x);
    batch_statistics(y, rows, columns, mean, variance);
    normalise_and_rectify(parameters, y, rows, columns, mean, variance);
    for (int j = 0; j < columns; j++)
        variance[j] *= (double)rows / (rows - 1);
    for (int e = 0; e < rows * columns; e++)
        y[e] = keeps(reference, *offset, e) ? y[e] / (double)KEEP : 0.0;
    *offset += (uint64_t)(rows * columns + 3) / 4;
    return y;
}

double reference_forward(struct reference *reference)
{
    int rows = reference->rows;
    const double *parameters = reference->parameters;
    uint64_t offset = reference->offset;
    double *x = copy_pixels(reference);
    for (int i = 0; i < BLOCKS; i++)
        x = train_block(reference, &parameters, x, i, &offset);

    double *logits = host_alloc((size_t)rows * CLASSES, sizeof *logits);
    dense(&parameters, x, reference->keys[0], rows, size[BLOCKS], KEY_SIZE);
    dense(&parameters, x, logits, rows, size[BLOCKS], CLASSES);
    double loss = 0.0;
    for (int row = 0; row < rows; row++) {
        int label = reference->labels[row];
        const double *of_row = logits + row * CLASSES;
        loss += log_sum(of_row, CLASSES) - of_row[label];
        loss += (double)CONTRAST_WEIGHT * contrast(reference, reference->keys[row], label);
    }
    free(logits);
    free(x);
    return loss / rows;
}

int reference_count_correct(const struct reference *reference, const float *mean,
                            const float *variance)
{
    int rows = reference->rows;
    const double *parameters = reference->parameters;
    double *x = copy_pixels(reference);
    for (int i = 0; i < BLOCKS; i++) {
        int columns = size[i + 1], first = i == 0 ? 0 : size[1];
        double *y = host_alloc((size_t)(rows * columns), sizeof *y);
        dense(&parameters, x, y, rows, size[i], columns);
        double means[128], variances[128];
        for (int j = 0; j < columns; j++) {
            means[j] = (double)mean[first + j];
            variances[j] = (double)variance[first + j];
        }
        normalise_and_rectify(&parameters, y, rows, columns, means, variances);
        free(x);
        x = y;
    }
    parameters += size[BLOCKS] * KEY_SIZE + KEY_SIZE;
    double *logits = host_alloc((size_t)rows * CLASSES, sizeof *logits);
    dense(&parameters, x, logits, rows, size[BLOCKS], CLASSES);
    int correct = 0;
    for (int row = 0; row < rows; row++) {
        int best = 0;
        for (int k = 1; k < CLASSES; k++)
            best = logits[row * CLASSES + k] > logits[row * CLASSES + best] ? k : best;
        correct += best == reference->labels[row];
    }
    free(logits);
    free(x);
    return correct;
}
