/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "redis/info.h"
#include "redis/place.h"

/*
 * What the stores of one process find out together about their Redis: whether
 * it may be given new claims, who was met where, how full it is, and where the
 * master is that Sentinels name.  Any thread, but for making and freeing,
 * which is done while no store has it.
 */
struct store_health;
struct master;

struct store_health *store_health_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void store_health_free(struct store_health **health);

/* Where the master is, where Sentinels know it; it lives as long. */
struct master *store_health_master(struct store_health *health);

/*
 * One node's fault was this and is that now.  The log is told of the first
 * node of all stores that has one, and of the last that has none any more.
 */
void store_health_count_fault(struct store_health *health,
    enum info_fault before, enum info_fault fault);
/* A node with that fault is freed: it counts no more, and nothing is told. */
void store_health_uncount_fault(
    struct store_health *health, enum info_fault fault);

/* The fault that the watching store has found in any of its nodes. */
void store_health_set_fault(
    struct store_health *health, enum info_fault fault);
enum info_fault store_health_fault(const struct store_health *health);

/*
 * What a server says of itself (INFO).  The log is told where another one
 * than before was met at that place (NULL: there is only the one, wherever it
 * is), or one that no longer has an append-only file.
 */
void store_health_note_server(struct store_health *health,
    const struct place *place, struct span info);

/* How full the fullest server is; 0 bytes: not known. */
void store_health_set_memory(
    struct store_health *health, uint64_t bytes, uint64_t max_bytes);
uint64_t store_health_memory(
    const struct store_health *health, uint64_t *ret_max_bytes);

/* The log is told, once, that we may not ask Redis what it is. */
void store_health_say_forbidden(struct store_health *health);
