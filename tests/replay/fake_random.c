/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/must.h"
#include "base/random.h"
#include "gate/request.h"
#include "replay/fakes.h"
#include "replay/messages.h"

/*
 * In place of src/base/random.c: bytes that depend on whom they are for.  Names
 * are drawn with them, and of two names only whether they are the same one
 * decides anything.  If all were drawn from one row, two orders of the same
 * events would be two states, in which each key has its first owner, say, and
 * each owner another name, and so would be all that follows.  What has no
 * purpose that is known here is drawn from a row of its length.
 */
enum { ROWS_MAX = 256 };

static struct row {
	uint64_t about;
	unsigned drawn;
} rows[ROWS_MAX];
static unsigned n_rows;
static uint64_t about; /* what the fakes say it is for; 0: they do not */

void
fake_random_begin(void)
{
	n_rows = 0;
	about = 0;
}

void
fake_random_about(enum about what, unsigned index)
{
	about = what == ABOUT_NOTHING ? 0 : mix(what, index);
}

/* --- what is it for? --- */

static bool
claim_has(const struct claim *claim, const void *to, uint64_t *ret_key)
{
	if (to != claim->owner.bytes)
		return false;
	*ret_key = mix_bytes(ABOUT_KEY, &claim->key_id, sizeof claim->key_id);
	return true;
}

static bool
find_claim(const struct gateway *g, const void *to, uint64_t *ret_key)
{
	struct machine *m;
	LIST_EACH(m, &g->worker->requests.list, item) {
		const struct request *r =
		    CONTAINER_OF(m, struct request, machine);
		if (claim_has(&r->c.claim, to, ret_key))
			return true;
	}
	const struct claim *claim = messages_claim(g, to);
	return messages_replays(g, to, ret_key) ||
	    (claim != NULL && claim_has(claim, to, ret_key));
}

static uint64_t
purpose_of(const void *to, size_t len)
{
	uint64_t key;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (gateway_lives(&world.gateways[i]) &&
		    find_claim(&world.gateways[i], to, &key))
			return key;
	if (about != 0)
		return mix(about, len);
	/* By how much a pause differs depends on when it begins. */
	if (len == sizeof(uint32_t))
		return mix(len, (uint64_t)world.now_us);
	return len;
}

/* --- the bytes --- */

static struct row *
row_of(uint64_t purpose)
{
	for (unsigned i = 0; i < n_rows; i++)
		if (rows[i].about == purpose)
			return &rows[i];
	must(n_rows < ROWS_MAX);
	rows[n_rows] = (struct row){purpose, 0};
	return &rows[n_rows++];
}

void
random_bytes(void *to, size_t len)
{
	struct row *row = row_of(purpose_of(to, len));
	unsigned char *out = to;
	uint64_t drawn = mix(row->about, ++row->drawn);
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)mix(drawn, i);
}
