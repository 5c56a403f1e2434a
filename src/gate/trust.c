/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/trust.h"
#include "gate/worker_state.h"

struct trusts {
	struct worker *worker;
};

struct trusts *
trust_new(struct worker *worker)
{
	struct trusts *trusts = mem_zero(sizeof *trusts);
	trusts->worker = worker;
	return trusts;
}

void
trust_stop(struct trusts *trusts)
{
	(void)trusts;
}

void
trust_free(struct trusts **trusts)
{
	free(*trusts);
	*trusts = NULL;
}

void
trust_reload(struct trusts *trusts)
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
