/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/trust.h"
#include "gate/worker_state.h"

struct trusts {
	struct worker *worker;
};

struct trusts *
trusts_new(struct worker *worker)
{
	struct trusts *trusts = mem_zero(sizeof *trusts);
	trusts->worker = worker;
	return trusts;
}

void
trusts_stop(struct trusts *trusts)
{
	(void)trusts;
}

void
trusts_free(struct trusts **trusts)
{
	free(*trusts);
	*trusts = NULL;
}

void
trusts_reload(struct trusts *trusts)
{
	(void)trusts;
}

bool
trust_allows(const struct trusts *trusts, const struct conf_route *route,
    int64_t unknown_ms)
{
	(void)trusts;
	(void)route;
	(void)unknown_ms;
	return false;
}

void
trust_saw(struct trusts *trusts, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms)
{
	(void)trusts;
	(void)route;
	(void)key_id;
	(void)attempt;
	(void)claim_ms;
}

void
trust_saw_late(struct trusts *trusts, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt)
{
	(void)trusts;
	(void)route;
	(void)key_id;
	(void)attempt;
}
