/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libFuzzer: gives every file of the folders named on the command line to the
 * target once. A folder without a file is an error, so that no corpus is lost unseen. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static int play(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(size ? size : 1); /* exactly so much: a sanitizer sees one byte more */
    const int failed = !data || fread(data, 1, size, file) != size;
    fclose(file);
    if (failed)
        fprintf(stderr, "%s: cannot be read\n", path);
    else
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return failed;
}

static int play_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    int played = 0, failed = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        failed += play(folder, entry->d_name);
        played++;
    }
    if (entries)
        closedir(entries);
    printf("%s: %d inputs\n", folder, played);
    return failed || !played;
}

int main(int argc, char **argv)
{
    int failed = 0;
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        failed |= play_folder(argv[i]);
    return failed || argc < 2;
}
