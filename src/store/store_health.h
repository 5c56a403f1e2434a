/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "store/redis/info.h"
#include "store/redis/redis_address.h"

/*
 * All stores of a process know together if their Redis may be given new claims,
 * which servers were met where, and where the master is that Sentinels name.
 * It asks nothing itself.  Any thread, but for making and freeing it, when no
 * store has it.
 */
struct store_health;
struct master;

struct store_health *store_health_new(void);
/* Nulls the caller's pointer, accepts NULL. */
void store_health_free(struct store_health **health);

/* The master that the Sentinels know; it lives as long as health. */
struct master *store_health_master(struct store_health *health);

/*
 * A node's fault was before, and is fault now; that of a node which is freed is
 * FAULT_NONE.  True: store_health_fault() has changed with it.
 */
bool store_health_count_fault(struct store_health *health,
    enum info_fault before, enum info_fault fault);
/*
 * The reason why no store of the process makes new claims: the first fault, in
 * their order in tbl/faults.h, that any node of any store has.
 */
enum info_fault store_health_fault(const struct store_health *health);

/*
 * Takes what a server says of itself (INFO).  Logs when it is another server
 * than was met at that place before (NULL: there is only the one, wherever it
 * is), or no longer has an append-only file.
 */
void store_health_note_server(struct store_health *health,
    const struct redis_address *place, struct span info);

/*
 * A store has lost that server of a cluster (NULL: its Redis, or the whole
 * cluster), for that reason; true: none has said so yet.  reason NULL: it has
 * it again, or wants it no more; true: no store misses it any more.
 */
bool store_health_tell(struct store_health *health,
    const struct redis_address *place, const char *reason);

/* The latest reason why a server is missed; NULL: none is.  For free(). */
char *store_health_reason(struct store_health *health);

/* Logs, once, that our user may not run INFO. */
void store_health_say_forbidden(struct store_health *health);
