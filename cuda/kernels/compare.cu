// SPDX-License-Identifier: Apache-2.0
// The layer's own kernels: device memory kept, compared and summed up on the device.
//
// Work comes in chunks of at most 64 KiB, one a block. `packed` holds the bytes of all chunks,
// each from a multiple of 16 on. compare.ptx is made of this by
//
//     nvcc -ptx -arch=compute_75 -o compare.ptx compare.cu      (CUDA 13.0, V13.0.88)
//
// and committed, so that building needs no compiler for it. cuda/compare.c has the host's side.

typedef unsigned char u8;
typedef unsigned long long u64;

struct chunk {
    u8 *at;
    u64 bytes;
    u64 packed; // where in `packed` it starts
};

struct difference {
    u64 first; // byte of the chunk; all ones when there is none
    u64 count;
};

static __device__ bool is_aligned(const struct chunk &chunk)
{
    return ((u64)chunk.at & 15) == 0;
}

extern "C" __global__ void rp_gather(const struct chunk *chunks, u8 *packed)
{
    const struct chunk chunk = chunks[blockIdx.x];
    u8 *to = packed + chunk.packed;
    u64 done = 0;
    if (is_aligned(chunk)) {
        u64 wide = chunk.bytes / 16;
        for (u64 i = threadIdx.x; i < wide; i += blockDim.x)
            ((uint4 *)to)[i] = ((const uint4 *)chunk.at)[i];
        done = wide * 16;
    }
    for (u64 i = done + threadIdx.x; i < chunk.bytes; i += blockDim.x)
        to[i] = chunk.at[i];
}

extern "C" __global__ void rp_compare(const struct chunk *chunks, const u8 *packed,
                                      struct difference *differences)
{
    const struct chunk chunk = chunks[blockIdx.x];
    const u8 *kept = packed + chunk.packed;
    struct difference *difference = &differences[blockIdx.x];
    u64 first = ~0ull, count = 0, done = 0;
    if (is_aligned(chunk)) {
        u64 wide = chunk.bytes / 16;
        for (u64 i = threadIdx.x; i < wide; i += blockDim.x) {
            uint4 a = ((const uint4 *)chunk.at)[i], b = ((const uint4 *)kept)[i];
            if (a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w)
                continue;
            for (u64 j = i * 16; j < i * 16 + 16; j++)
                if (chunk.at[j] != kept[j]) {
                    first = j < first ? j : first;
                    count++;
                }
        }
        done = wide * 16;
    }
    for (u64 i = done + threadIdx.x; i < chunk.bytes; i += blockDim.x)
        if (chunk.at[i] != kept[i]) {
            first = i < first ? i : first;
            count++;
        }
    if (count) {
        atomicMin(&difference->first, first);
        atomicAdd(&difference->count, count);
    }
}

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by Stafford).
static __device__ u64 mix(u64 value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

// 128 bits of each chunk: two sums over its bytes, each mixed with its place under a key of its
// own. A sum does not depend on which thread comes first. It tells that something changed, not
// what; a restore never rests on it.
extern "C" __global__ void rp_hash(const struct chunk *chunks, u64 *sums)
{
    const struct chunk chunk = chunks[blockIdx.x];
    u64 a = 0, b = 0;
    for (u64 i = threadIdx.x; i * 8 < chunk.bytes; i += blockDim.x) {
        u64 word = 0, left = chunk.bytes - i * 8;
        if (is_aligned(chunk) && left >= 8)
            word = ((const u64 *)chunk.at)[i];
        else
            for (u64 j = 0; j < 8 && j < left; j++)
                word |= (u64)chunk.at[i * 8 + j] << 8 * j;
        u64 once = mix(word ^ (i + 1) * 0x9e3779b97f4a7c15ull);
        a += once;
        b += mix(once ^ 0xd6e8feb86659fd93ull ^ (word << 32 | word >> 32));
    }
    atomicAdd(&sums[2 * blockIdx.x], a);
    atomicAdd(&sums[2 * blockIdx.x + 1], b);
}
