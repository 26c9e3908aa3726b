/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"
#include "host.h"
#include "net.h"

#include <errno.h>
#include <getopt.h>
#include <nvtx3/nvToolsExt.h>
#include <string.h>

static const char help[] =
    "usage: banks [OPTION...]\n"
    "Trains layers that each look into a bank of vectors, and write a few of them.\n"
    "\n"
    "  -e, --eager         keep all activations for the backward pass (default)\n"
    "  -c, --checkpoint    drop them, and run each layer again in the backward pass\n"
    "  -n, --steps=N       training steps (default 6)\n"
    "  -s, --seed=N        start of all generators (default 1)\n"
    "  -u, --unit=N        elements of a layer's input, a multiple of 1024 (default 16384)\n"
    "  -l, --layers=LIST   PARTS:QUARTERS for each layer, commas between: how many activations\n"
    "                      of a unit it makes, and how many quarters of a unit its bank has\n"
    "                      (default 4:4,4:4,4:4,4:4)\n"
    "      --kernels=FILE  the PTX (default kernels.ptx beside the program)\n"
    "  -h, --help          show this\n";

struct options {
    bool checkpoint;
    int steps, unit;
    uint64_t seed;
    const char *layers, *kernels;
};

static _Noreturn void refuse(const char *what, const char *text)
{
    fprintf(stderr, "banks: %s, not '%s'; see --help\n", what, text);
    exit(2);
}

static uint64_t number(const char *text, uint64_t low, uint64_t high, const char *what)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < low ||
        value > high)
        refuse(what, text);
    return value;
}

static struct options parse(int argc, char **argv)
{
    static const struct option table[] = {
        {"eager", no_argument, NULL, 'e'},        {"checkpoint", no_argument, NULL, 'c'},
        {"steps", required_argument, NULL, 'n'},  {"seed", required_argument, NULL, 's'},
        {"unit", required_argument, NULL, 'u'},   {"layers", required_argument, NULL, 'l'},
        {"kernels", required_argument, NULL, 'k'}, {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    struct options options = {.steps = 6, .seed = 1, .unit = 16384, .layers = "4:4,4:4,4:4,4:4"};
    int option;
    while ((option = getopt_long(argc, argv, "ecn:s:u:l:h", table, NULL)) != -1)
        switch (option) {
        case 'e': options.checkpoint = false; break;
        case 'c': options.checkpoint = true; break;
        case 'n': options.steps = (int)number(optarg, 1, 1000000, "--steps takes a number"); break;
        case 's': options.seed = number(optarg, 0, UINT32_MAX, "--seed takes a number"); break;
        case 'u': options.unit = (int)number(optarg, 1024, 1 << 28, "--unit takes a number"); break;
        case 'l': options.layers = optarg; break;
        case 'k': options.kernels = optarg; break;
        case 'h': fputs(help, stdout); exit(0);
        default: exit(2); /* getopt has said why */
        }
    if (optind < argc || options.unit % 1024)
        refuse("--unit takes a multiple of 1024, and nothing else stands alone",
               optind < argc ? argv[optind] : "that");
    return options;
}

static void parse_layers(struct net *net, const char *text)
{
    const char *at = text;
    do {
        int parts = 0, quarters = 0, used = 0;
        if (net->count == MOST_LAYERS || sscanf(at, "%d:%d%n", &parts, &quarters, &used) != 2 ||
            parts < 1 || parts > MOST_PARTS || quarters < 1 || quarters > 64 ||
            (int64_t)quarters * (net->n / 4) > INT32_MAX / 2)
            refuse("--layers takes PARTS:QUARTERS,...", text);
        net->layers[net->count++] =
            (struct layer){.parts = parts, .bank_n = quarters * (net->n / 4)};
        at += used;
    } while (*at++ == ',');
    if (at[-1] != '\0')
        refuse("--layers takes PARTS:QUARTERS,...", text);
}

/* ---- a step ------------------------------------------------------------------------ */

static void named_forward(const struct net *net, const char *what, int k, CUdeviceptr x,
                          unsigned step, struct pass *pass)
{
    char name[32];
    snprintf(name, sizeof name, "%s/layer%d", what, k);
    nvtxRangePushA(name);
    layer_forward(net, k, x, step, pass);
    nvtxRangePop();
}

static void backward_through(const struct net *net, int k, unsigned step, bool checkpoint,
                             struct pass *pass, CUdeviceptr *gradient)
{
    if (checkpoint) {
        struct pass replayed;
        named_forward(net, "recompute", k, pass->input, step, &replayed);
        device_free(&pass->output);
        *pass = replayed;
    }
    layer_backward(net, k, pass, gradient);
    pass_release(pass);
}

/* Returns the loss. */
static double train_step(const struct net *net, const struct options *options, unsigned step,
                         CUdeviceptr x, CUdeviceptr losses)
{
    struct pass passes[MOST_LAYERS];
    float sums[LOSSES];
    double loss = 0.0;
    nvtxRangePushA("step");
    net_draw(net, x, net->n, (unsigned)options->seed * 2654435761u + step);
    CUdeviceptr y = x;
    for (int k = 0; k < net->count; k++) {
        named_forward(net, "forward", k, y, step, &passes[k]);
        if (options->checkpoint)
            pass_drop(&passes[k]);
        y = passes[k].output;
    }
    CUdeviceptr gradient = device_alloc((size_t)net->n * sizeof(float));
    net_residual(net, x, y, gradient, losses);
    for (int k = net->count - 1; k >= 0; k--)
        backward_through(net, k, step, options->checkpoint, &passes[k], &gradient);
    device_free(&gradient);
    CU(StreamSynchronize, net->stream);
    nvtxRangePop();
    CU(MemcpyDtoH, sums, losses, sizeof sums);
    for (int i = 0; i < LOSSES; i++)
        loss += (double)sums[i];
    return loss / net->n;
}

/* ---- what is left ------------------------------------------------------------------ */

/* FNV-1a over words, a piece at a time: banks can be larger than what the host has. */
static uint64_t digest(uint64_t hash, CUdeviceptr memory, size_t bytes)
{
    enum { PIECE = 1 << 24 };
    uint32_t *words = host_alloc(PIECE, 1);
    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        CU(MemcpyDtoH, words, memory + at, piece);
        for (size_t i = 0; i < piece / sizeof *words; i++)
            hash = (hash ^ words[i]) * 0x100000001b3u;
    }
    free(words);
    return hash;
}

static void print_state(const struct net *net)
{
    uint64_t banks = 0xcbf29ce484222325u, weights = banks;
    for (int k = 0; k < net->count; k++) {
        const struct layer *layer = &net->layers[k];
        banks = digest(banks, layer->bank, (size_t)layer->bank_n * sizeof(float));
        weights = digest(weights, layer->weights,
                         (size_t)layer->parts * WIDTH * WIDTH * sizeof(float));
    }
    printf("banks %016llx\n", (unsigned long long)banks);
    printf("weights %016llx\n", (unsigned long long)weights);
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    struct net net = {.n = options.unit};
    parse_layers(&net, options.layers);
    char *beside = file_beside_program("kernels.ptx");
    char *ptx = file_read_text(options.kernels != NULL ? options.kernels : beside);
    CUdevice device;
    CUcontext context;
    driver_open();
    CU(Init, 0);
    CU(DeviceGet, &device, 0);
    CU(DevicePrimaryCtxRetain, &context, device);
    CU(CtxSetCurrent, context);
    net_create(&net, ptx, options.seed);

    CUdeviceptr x = device_alloc((size_t)net.n * sizeof(float));
    CUdeviceptr losses = device_alloc(LOSSES * sizeof(float));
    for (int step = 0; step < options.steps; step++) {
        double loss = train_step(&net, &options, (unsigned)step, x, losses);
        printf("loss %d %a %.6f\n", step + 1, loss, loss);
    }
    print_state(&net);
    device_free(&x);
    device_free(&losses);
    net_destroy(&net);
    free(ptx);
    free(beside);
    file_close(stdout, "standard output");
    return 0;
}
