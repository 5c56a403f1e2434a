/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/span.h"
#include "messages/relay/relay_meter.h"

struct relay_meter *
relay_meter_of(struct relay_meters *meters, const char *name)
{
	struct relay_meter *_Atomic *at = &meters->first;
	for (; *at != NULL; at = &(*at)->next)
		if (!strcmp((*at)->name, name))
			return *at;
	struct relay_meter *m = mem_zero(sizeof *m);
	m->name = mem_str(span_str(name));
	m->why = mem_str(SPAN(""));
	m->who = mem_str(SPAN(""));
	m->note = mem_str(SPAN(""));
	must(pthread_mutex_init(&m->lock, NULL) == 0);
	*at = m;
	return m;
}

/* --- what is said --- */

void
relay_meter_read(struct relay_meter *m, struct arena *arena,
    struct relay_said *ret_said)
{
	must(pthread_mutex_lock(&m->lock) == 0);
	ret_said->why = arena_dup(arena, span_str(m->why)).ptr;
	ret_said->who = arena_dup(arena, span_str(m->who)).ptr;
	ret_said->note = arena_dup(arena, span_str(m->note)).ptr;
	ret_said->paused_ms = m->paused_ms;
	must(pthread_mutex_unlock(&m->lock) == 0);
}

static void
replace_text(char **text, const char *by)
{
	free(*text);
	*text = mem_str(span_str(by));
}

void
relay_meter_say(struct relay_meter *m, const char *why)
{
	must(pthread_mutex_lock(&m->lock) == 0);
	replace_text(&m->why, why);
	must(pthread_mutex_unlock(&m->lock) == 0);
}

void
relay_meter_pause(struct relay_meter *m, int64_t since_ms, const char *who,
    const char *note)
{
	must(pthread_mutex_lock(&m->lock) == 0);
	m->paused_ms = since_ms;
	replace_text(&m->who, who);
	replace_text(&m->note, note);
	must(pthread_mutex_unlock(&m->lock) == 0);
}

void
relay_meter_clear(struct relay_meters *meters)
{
	struct relay_meter *m = meters->first;
	meters->first = NULL;
	while (m != NULL) {
		struct relay_meter *next = m->next;
		must(pthread_mutex_destroy(&m->lock) == 0);
		free(m->name);
		free(m->why);
		free(m->who);
		free(m->note);
		free(m);
		m = next;
	}
}
