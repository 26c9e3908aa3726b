/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_BYTES = PIXELS + 1, MAX_ROWS = 1000000, TEST_SHARE = 6 };

/* The header is a magic word, the number of rows and the pixels of a row. */
struct header {
    char magic[8];
    uint32_t rows, pixels;
};

static _Noreturn void fail(const char *path, const char *why)
{
    fprintf(stderr, "digits: %s: %s; tools/develop/fetch_digits.py obtains the digits\n", path,
            why);
    exit(1);
}

static unsigned char *read_rows(const char *path, int *rows)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail(path, strerror(errno));
    struct header header;
    if (fread(&header, sizeof header, 1, file) != 1 || memcmp(header.magic, "digits8\n", 8) != 0 ||
        header.pixels != PIXELS || header.rows < TEST_SHARE || header.rows > MAX_ROWS)
        fail(path, "not a file of digits");
    unsigned char *bytes = host_alloc(header.rows, ROW_BYTES);
    if (fread(bytes, ROW_BYTES, header.rows, file) != header.rows)
        fail(path, "the file ends too early");
    fclose(file);
    *rows = (int)header.rows;
    return bytes;
}

static void take_samples(struct samples *samples, const unsigned char *rows, const int *order,
                         int count, const char *path)
{
    samples->count = count;
    samples->pixels = host_alloc((size_t)count * PIXELS, sizeof *samples->pixels);
    samples->labels = host_alloc((size_t)count, sizeof *samples->labels);
    for (int i = 0; i < count; i++) {
        const unsigned char *row = rows + (size_t)order[i] * ROW_BYTES;
        for (int p = 0; p < PIXELS; p++)
            samples->pixels[i * PIXELS + p] = (float)row[p] / 8.0f - 1.0f;
        samples->labels[i] = row[PIXELS];
        if (row[PIXELS] >= CLASSES)
            fail(path, "a label is not a digit");
    }
}

void data_load(struct data *data, const char *path)
{
    int rows;
    unsigned char *bytes = read_rows(path, &rows);
    int *order = host_alloc((size_t)rows, sizeof *order);
    for (int i = 0; i < rows; i++)
        order[i] = i;
    struct random random = {0};
    random_shuffle(&random, order, rows);
    int test = rows / TEST_SHARE;
    take_samples(&data->test, bytes, order, test, path);
    take_samples(&data->train, bytes, order + test, rows - test, path);
    free(order);
    free(bytes);
}

static void release_samples(struct samples *samples)
{
    free(samples->pixels);
    free(samples->labels);
}

void data_release(struct data *data)
{
    release_samples(&data->train);
    release_samples(&data->test);
}

void batches_open(struct batches *batches, const struct samples *samples, int batch,
                  uint64_t seed)
{
    *batches = (struct batches){.samples = samples, .random = {seed}, .batch = batch};
    batches->order = host_alloc((size_t)samples->count, sizeof *batches->order);
    for (int i = 0; i < samples->count; i++)
        batches->order[i] = i;
    batches->next = samples->count;
}

void batches_close(struct batches *batches)
{
    free(batches->order);
}

void batches_next(struct batches *batches, float *pixels, int *labels)
{
    const struct samples *samples = batches->samples;
    if (batches->next + batches->batch > samples->count) {
        random_shuffle(&batches->random, batches->order, samples->count);
        batches->next = 0;
    }
    for (int i = 0; i < batches->batch; i++) {
        int from = batches->order[batches->next++];
        memcpy(pixels + i * PIXELS, samples->pixels + from * PIXELS, PIXELS * sizeof *pixels);
        labels[i] = samples->labels[from];
    }
}
