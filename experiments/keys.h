/* keys.h -- which record an operation touches, and what its key is.
 *
 *     record number 0 .. n-1  --key_of-->  64-bit key       a bijection: no two records share a key
 *     distribution            ---------->  record number    uniform, zipfian:THETA, latest
 *
 * Zipfian ranks come by rejection-inversion (W. Hoermann and G. Derflinger, "Rejection-inversion to
 * generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996): any theta > 0,
 * 1 too, no table, constant time. Ranks are scattered over the records by FNV-1a as in YCSB
 * (B. F. Cooper et al., SoCC '10, ScrambledZipfianGenerator), so that hot records are no neighbours.
 * "latest" takes the rank as the distance from the newest record and does not scatter.
 *
 * Threads: one key_source per worker. Errors: keys_init says -EINVAL.
 */
#ifndef EXPERIMENTS_KEYS_H
#define EXPERIMENTS_KEYS_H

#include <stdint.h>

enum key_distribution { KEYS_UNIFORM, KEYS_ZIPFIAN, KEYS_LATEST };

struct key_source {
    enum key_distribution distribution;
    double theta;
    uint64_t records, random;         /* random: the generator's state */
    double area_first, area_all, cut; /* of the hat function; see keys.c */
};

/* The key of a record, and the other way round. */
uint64_t key_of(uint64_t record, uint64_t seed);
uint64_t key_record(uint64_t key, uint64_t seed);

/* The next 64 random bits (splitmix64: G. L. Steele et al., OOPSLA '14). */
uint64_t keys_random(uint64_t *state);

/* A source over records 0 .. records-1; each worker passes its own stream. -EINVAL: no records, or
 * theta is not a positive number. */
int keys_init(struct key_source *s, enum key_distribution distribution, double theta,
              uint64_t records, uint64_t seed, uint64_t stream);

/* The next record. */
uint64_t keys_next(struct key_source *s);

/* A rank 1 .. records with probability proportional to 1/rank^theta, unscattered. */
uint64_t keys_rank(struct key_source *s);

/* More records have come: the source covers them from now on. */
void keys_grow(struct key_source *s, uint64_t records);

#endif
