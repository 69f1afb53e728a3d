/* workload.c -- the workloads by name, and the schedule. */
#include "experiments/workload.h"

#include <string.h>

#define ZIPFIAN .distribution = KEYS_ZIPFIAN, .theta = 0.99

static const struct workload workloads[] = {
    {"insert", "new records only", {[WORKLOAD_INSERT] = 100}, KEYS_UNIFORM, 0, false},
    {"read", "reads of records that are there", {[WORKLOAD_READ] = 100}, KEYS_UNIFORM, 0, false},
    {"read-miss", "reads of keys that never were there", {[WORKLOAD_MISS] = 100}, KEYS_UNIFORM, 0, false},
    {"update", "new values for records that are there", {[WORKLOAD_UPDATE] = 100}, KEYS_UNIFORM, 0, false},
    {"delete", "each record once, as long as there are any", {[WORKLOAD_DELETE] = 100},
     KEYS_UNIFORM, 0, false},
    {"mixed", "40 % read, 30 % insert, 20 % update, 10 % delete",
     {[WORKLOAD_READ] = 40, [WORKLOAD_INSERT] = 30, [WORKLOAD_UPDATE] = 20, [WORKLOAD_DELETE] = 10},
     KEYS_UNIFORM, 0, false},
    {"ycsb-a", "50 % read, 50 % update", {[WORKLOAD_READ] = 50, [WORKLOAD_UPDATE] = 50}, ZIPFIAN},
    {"ycsb-b", "95 % read, 5 % update", {[WORKLOAD_READ] = 95, [WORKLOAD_UPDATE] = 5}, ZIPFIAN},
    {"ycsb-c", "100 % read", {[WORKLOAD_READ] = 100}, ZIPFIAN},
    {"ycsb-d", "95 % read of the latest, 5 % insert", {[WORKLOAD_READ] = 95, [WORKLOAD_INSERT] = 5},
     KEYS_LATEST, 0.99, false},
    {"ycsb-e", "95 % scan of up to 100 records, 5 % insert",
     {[WORKLOAD_SCAN] = 95, [WORKLOAD_INSERT] = 5}, ZIPFIAN},
    {"ycsb-f", "50 % read, 50 % read-modify-write", {[WORKLOAD_READ] = 50, [WORKLOAD_MODIFY] = 50},
     ZIPFIAN},
    {"recover", "no operation: a restart; pool and store are opened anew", {0}, KEYS_UNIFORM, 0,
     true},
};

int workload_all(const struct workload **all)
{
    *all = workloads;
    return (int)(sizeof workloads / sizeof workloads[0]);
}

const struct workload *workload_find(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

bool workload_only_reads(const struct workload *w)
{
    return w->share[WORKLOAD_READ] + w->share[WORKLOAD_MISS] + w->share[WORKLOAD_SCAN] == 100;
}

bool workload_writes(const struct workload *w)
{
    return w->share[WORKLOAD_INSERT] + w->share[WORKLOAD_UPDATE] + w->share[WORKLOAD_MODIFY] > 0;
}

const char *workload_cannot(const struct workload *w, const struct store_ops *ops, bool fixed)
{
    const int *share = w->share;

    if (fixed ? !ops->fixed : !ops->variable)
        return fixed ? "the store holds no 8-byte pairs" : "the store holds 8-byte pairs only";
    if (share[WORKLOAD_SCAN] && !ops->scan)
        return "the store's keys have no order, so it cannot scan";
    if (share[WORKLOAD_INSERT] && !(fixed ? ops->insert != NULL : ops->insert_bytes != NULL))
        return "the store cannot insert";
    if (share[WORKLOAD_READ] + share[WORKLOAD_MISS] + share[WORKLOAD_MODIFY] &&
        !(fixed ? ops->get != NULL : ops->get_bytes != NULL))
        return "the store cannot read";
    if (share[WORKLOAD_UPDATE] + share[WORKLOAD_MODIFY] &&
        !(fixed ? ops->update != NULL : ops->update_bytes != NULL))
        return "the store cannot update";
    if (share[WORKLOAD_DELETE] && !(fixed ? ops->remove != NULL : ops->remove_bytes != NULL))
        return "the store cannot delete";
    return NULL;
}

/* Deals the kinds out and shuffles them (R. A. Fisher and F. Yates), always the same way. */
void schedule_make(struct schedule *s, const struct workload *w)
{
    uint64_t random = 1;
    int at = 0;

    s->workload = w;
    for (int kind = 0; kind < WORKLOAD_KINDS; kind++)
        for (int i = 0; i < w->share[kind]; i++)
            s->kind[at++] = (uint8_t)kind;
    for (int i = WORKLOAD_BLOCK - 1; i > 0; i--) {
        int j = (int)(keys_random(&random) % (uint64_t)(i + 1));
        uint8_t kind = s->kind[i];
        s->kind[i] = s->kind[j];
        s->kind[j] = kind;
    }
    s->inserts_before[0] = 0;
    for (int i = 0; i < WORKLOAD_BLOCK; i++)
        s->inserts_before[i + 1] = (uint8_t)(s->inserts_before[i] + (s->kind[i] == WORKLOAD_INSERT));
}

static unsigned rotation(uint64_t block)
{
    return (unsigned)(keys_random(&block) % WORKLOAD_BLOCK);
}

enum workload_kind schedule_kind(const struct schedule *s, uint64_t operation)
{
    unsigned place = (unsigned)(operation % WORKLOAD_BLOCK) + rotation(operation / WORKLOAD_BLOCK);
    return s->kind[place % WORKLOAD_BLOCK];
}

uint64_t schedule_inserts(const struct schedule *s, uint64_t operation)
{
    const unsigned per_block = s->inserts_before[WORKLOAD_BLOCK];
    unsigned turn = rotation(operation / WORKLOAD_BLOCK);
    unsigned end = turn + (unsigned)(operation % WORKLOAD_BLOCK);
    unsigned inside = end < WORKLOAD_BLOCK
                          ? s->inserts_before[end]
                          : per_block + s->inserts_before[end - WORKLOAD_BLOCK];
    return operation / WORKLOAD_BLOCK * per_block + inside - s->inserts_before[turn];
}
