/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/source/delivery.h"
#include "messages/source/restore.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "messages/source/sources_view.h"

/* --- sources --- */

static const char *
copy(struct inquiry *inquiry, const char *text)
{
	return text != NULL ? arena_dup(inquiry->arena, span_str(text)).ptr
			    : NULL;
}

/* What is read; of topics all, with a comma between each two. */
static const char *
reads(struct inquiry *inquiry, const struct conf_source *conf)
{
	struct span text = SPAN("");
	if (conf->topics.count == 0)
		return copy(inquiry,
		    conf->stream != NULL ? conf->stream : conf->table);
	for (size_t i = 0; i < conf->topics.count; i++)
		text = arena_printf(inquiry->arena, "%.*s%s%s",
		    SPAN_FMT(text), i > 0 ? "," : "", conf->topics.list[i]);
	return text.ptr;
}

static void
add_source(struct inquiry *inquiry, struct source *s)
{
	const struct conf_source *conf = s->source;
	struct broker_health health = {.message = "", .lag = -1};
	uint64_t counts[MESSAGE_STATES_];
	delivery_count_states(s, counts);
	if (s->reader != NULL)
		health = broker_reader_health(s->reader);
	const char *why =
	    s->standing != 0 ? s->why[__builtin_ctz(s->standing)] : "";
	struct source_view *view =
	    arena_alloc(inquiry->arena, sizeof *view);
	*view = (struct source_view){
	    .next = inquiry->sources,
	    .name = copy(inquiry, conf->name),
	    .broker = copy(inquiry, conf->broker->name),
	    .kind = conf->broker->kind,
	    .reads = reads(inquiry, conf),
	    .group = copy(inquiry, conf->table == NULL ? conf->group : NULL),
	    .standing = s->standing,
	    .parts_standing = health.parts_standing,
	    .error = copy(inquiry, *why != '\0' ? why : health.message),
	    .up = s->reader == NULL ? !source_standing_lets_begin(s)
				    : health.up,
	    .lag = health.lag,
	    .in_flight = s->in_flight,
	    .held = counts[MESSAGE_STATE_HELD],
	    .retrying = counts[MESSAGE_STATE_RETRYING],
	    .waiting = counts[MESSAGE_STATE_WAITING],
	    .parked = s->letters.parked,
	    .dead = -1,
	    .paused_ms = s->pause.on ? s->pause.since_ms : 0,
	    .paused_by = copy(inquiry, s->pause.who),
	    .note = copy(inquiry, s->pause.note),
	};
	if (s->letters.n_unknown == 0)
		view->dead = (int64_t)s->letters.dead;
	inquiry->sources = view;
}

/* --- one message --- */

/* False: its answer comes later. */
static bool
meet_message(struct inquiry *inquiry, struct source *s)
{
	struct delivery *d = delivery_find(s, inquiry->position);
	/* The letter of its position is meant, which has to be done with. */
	if (d == NULL || d->namesake)
		return true;
	inquiry->found = true;
	inquiry->messages = delivery_view(d, inquiry);
	inquiry->count = 1;
	if (inquiry->kind != INQUIRY_DROP)
		return true;
	inquiry->busy = !delivery_view_drop(d, inquiry);
	return inquiry->busy;
}

/* --- a source --- */

/* Whoever may put something with its broker; false: its answer comes later. */
static bool
meet_source(struct inquiry *inquiry, struct source *s)
{
	if (s->reader == NULL)
		return true;
	inquiry->found = true;
	if (inquiry->kind == INQUIRY_PROOF) {
		source_proof_accept(s);
		inquiry->done = true;
		return true;
	}
	inquiry->busy = s->restore != NULL;
	if (!inquiry->busy)
		restore_begin(s, inquiry);
	return inquiry->busy;
}

/* --- a page --- */

struct candidates {
	struct delivery **list;
	size_t count, size;
};

static void
take_candidates(struct candidates *all, const struct inquiry *inquiry,
    const struct source *s)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		struct delivery *d = delivery_of(m);
		unsigned state = delivery_view_state(d);
		if (state >= INQUIRY_LISTED || !inquiry->wanted[state] ||
		    d->first_ms < inquiry->after_ms)
			continue;
		if (all->count == all->size) {
			all->size = all->size * 2 + 64;
			all->list = mem_grow(all->list,
			    all->size * sizeof(struct delivery *));
		}
		all->list[all->count++] = d;
	}
}

static int
compare(const void *a, const void *b)
{
	const struct delivery *one = *(struct delivery *const *)a;
	const struct delivery *other = *(struct delivery *const *)b;
	return (one->first_ms > other->first_ms) -
	    (one->first_ms < other->first_ms);
}

/*
 * As many as a page has and one more, and all others of that one's time: these
 * have their order by their ids, which are made of what is shown only.
 */
static void
add_messages(struct inquiry *inquiry, struct sources *sources)
{
	struct message_view **end = &inquiry->messages;
	struct candidates all = {0};
	size_t added = 0;
	int64_t last_ms = -1;
	struct source *s;
	LIST_EACH(s, &sources->members.list, member.item)
		if (inquiry->source.len == 0 ||
		    span_eq(inquiry->source, span_str(s->source->name)))
			take_candidates(&all, inquiry, s);
	if (all.count > 0)
		qsort(all.list, all.count, sizeof *all.list, compare);
	while (*end != NULL)
		end = &(*end)->next;
	for (size_t i = 0; i < all.count; i++) {
		const struct delivery *d = all.list[i];
		if (added > inquiry->limit && d->first_ms != last_ms)
			break;
		struct message_view *view = delivery_view(d, inquiry);
		if (view->first_ms == inquiry->after_ms &&
		    inquiry_compare_ids(view->id, inquiry->after_id) <= 0)
			continue;
		last_ms = view->first_ms;
		added++;
		inquiry->count++;
		*end = view;
		end = &view->next;
	}
	free(all.list);
}

/* --- all --- */

bool
sources_view(struct inquiry *inquiry, struct worker *worker)
{
	struct sources *sources = members_of(worker, &sources_kind);
	struct source *s;
	if (sources == NULL)
		return true;
	if (inquiry->kind == INQUIRY_MESSAGES) {
		add_messages(inquiry, sources);
		return true;
	}
	LIST_EACH(s, &sources->members.list, member.item) {
		if (s->member.draining)
			continue;
		if (inquiry->kind == INQUIRY_SOURCES)
			add_source(inquiry, s);
		else if (span_eq(inquiry->source, span_str(s->source->name)))
			return inquiry->kind >= INQUIRY_RESTORE
			    ? meet_source(inquiry, s)
			    : meet_message(inquiry, s);
	}
	return true;
}
