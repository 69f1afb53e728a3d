/* hash.h -- hash functions and comparison, with the computing they stand for.
 *
 *   hash_murmur_word(x)      MurmurHash64A of the 8 bytes of x
 *   hash_murmur_bytes(p, n)  MurmurHash64A of n bytes of ordinary memory
 *   hash_mix_word(x)         a finaliser only: two multiplications
 *   hash_compare(a, b, n)    like memcmp, over ordinary memory
 *   hash_check(x, place, n)  n check bits for a word on persistent memory, 2 <= n <= 32. Any odd
 *                            number of wrong bits is found for sure; other damage, and a word that
 *                            belongs to another place, but for one case in 2^(n-1)
 *
 * Every one charges pm_work(): the emulator sees no arithmetic, so helpers that all stores share
 * state it once, and no store for itself. Cycles are the dependent chain, at 3 per 64-bit
 * multiplication and 1 per shift or xor (Fog, Instruction tables, Cascade Lake): word 19, mix 12,
 * check 12, bytes 16 + 4 per 8-byte block. Natively measured in units of a dependent addition, on another
 * x86: word 20, mix 11, bytes 17 for one block and 5 for each further one. A comparison measured
 * 23 to 28 with its loads, which are events of their own: 16 + 1 per 32 bytes without them.
 *
 * Source: A. Appleby, MurmurHash2 (64-bit variant A), as used by libstdc++'s _Hash_bytes, which
 * ESH and Dash call "MurmurHashUnaligned"; seed 0xc70f6907 as there. mix: the finaliser of
 * MurmurHash3. Words are little-endian. On one 8-byte block all are one-to-one: two 8-byte keys
 * never share a whole hash.
 */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backends/pm.h"

#define HASH_MURMUR_SEED UINT64_C(0xc70f6907)
#define HASH_MURMUR_PRIME UINT64_C(0xc6a4a7935bd1e995)

static inline uint64_t hash_murmur_block_(uint64_t hash, uint64_t word)
{
    word *= HASH_MURMUR_PRIME;
    word ^= word >> 47;
    word *= HASH_MURMUR_PRIME;
    return (hash ^ word) * HASH_MURMUR_PRIME;
}

static inline uint64_t hash_murmur_end_(uint64_t hash)
{
    hash ^= hash >> 47;
    hash *= HASH_MURMUR_PRIME;
    return hash ^ hash >> 47;
}

static inline uint64_t hash_murmur_word(uint64_t word)
{
    pm_work(19);
    const uint64_t start = HASH_MURMUR_SEED ^ 8 * HASH_MURMUR_PRIME;
    return hash_murmur_end_(hash_murmur_block_(start, word));
}

static inline uint64_t hash_murmur_bytes(const void *data, size_t size)
{
    pm_work(16 + size / 2);
    const unsigned char *p = data;
    uint64_t hash = HASH_MURMUR_SEED ^ size * HASH_MURMUR_PRIME;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = hash_murmur_block_(hash, word);
    }
    if (size) {
        uint64_t tail = 0;
        memcpy(&tail, p, size);
        hash = (hash ^ tail) * HASH_MURMUR_PRIME;
    }
    return hash_murmur_end_(hash);
}

static inline uint64_t hash_mix_word(uint64_t word)
{
    pm_work(12);
    word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ word >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ word >> 33;
}

static inline uint64_t hash_check(uint64_t word, uint64_t place, unsigned bits)
{
    pm_work(12);
    uint64_t hash = (word ^ place * HASH_MURMUR_PRIME) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash >> (65 - bits) << 1 | (uint64_t)__builtin_parityll(word);
}

static inline int hash_compare(const void *a, const void *b, size_t size)
{
    pm_work(16 + size / 32);
    return memcmp(a, b, size);
}

#endif
