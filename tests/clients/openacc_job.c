// SPDX-License-Identifier: Apache-2.0
// Trains a linear classifier on synthetic points on the device, with the OpenACC of GCC, which
// knows nothing of reprise. Data regions, gangs and vectors, a reduction, an update of the host.
//
// usage: openacc_job OUTPUT      writes every loss and then the weights, as bytes
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 512, WIDTH = 24, STEPS = 12 };

static float points[POINTS * WIDTH], wanted[POINTS], error[POINTS], weight[WIDTH], losses[STEPS];

static float uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (1 << 24) - 0.5f;
}

static void make_points(void)
{
    unsigned state = 7;
    float truth[WIDTH];
    for (int k = 0; k < WIDTH; k++)
        truth[k] = uniform(&state);
    for (int i = 0; i < POINTS; i++)
        for (int k = 0; k < WIDTH; k++) {
            points[i * WIDTH + k] = uniform(&state);
            wanted[i] += truth[k] * points[i * WIDTH + k];
        }
}

static float step(void)
{
    int loss = 0; // in millionths: a sum of integers has one value in every order
#pragma acc parallel loop gang vector reduction(+ : loss) present(points, wanted, error, weight)
    for (int i = 0; i < POINTS; i++) {
        float guess = 0;
        for (int k = 0; k < WIDTH; k++)
            guess += weight[k] * points[i * WIDTH + k];
        error[i] = guess - wanted[i];
        loss += (int)(error[i] * error[i] * 1e6f);
    }
#pragma acc parallel loop gang present(points, error, weight)
    for (int k = 0; k < WIDTH; k++) {
        float slope = 0;
#pragma acc loop seq
        for (int i = 0; i < POINTS; i++)
            slope += error[i] * points[i * WIDTH + k];
        weight[k] -= 4.0f * slope / POINTS;
    }
    return (float)loss * 1e-6f;
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    if (acc_get_num_devices(acc_device_nvidia) == 0) {
        fputs("openacc_job: no device\n", stderr);
        return 3;
    }
    acc_set_device_type(acc_device_nvidia);
    make_points();
#pragma acc data copyin(points, wanted) create(error) copy(weight)
    for (int s = 0; s < STEPS; s++)
        losses[s] = step();

    FILE *file = fopen(words[1], "wb");
    if (!file || fwrite(losses, sizeof losses, 1, file) != 1 ||
        fwrite(weight, sizeof weight, 1, file) != 1 || fclose(file))
        return 4;
    printf("loss %f %f\n", (double)losses[0], (double)losses[STEPS - 1]);
    return losses[STEPS - 1] < losses[0] / 2 ? 0 : 5;
}
