/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/log.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_pause.h"
#include "messages/source/source_standing.h"

static void
log_pause(const struct source *s, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", s->source->name);
	if (event == EV_source_paused) {
		log_str(&line, "who", s->pause.who);
		if (s->pause.note[0] != '\0')
			log_str(&line, "note", s->pause.note);
	}
	log_end(&line);
}

static void
on_pause(void *arg)
{
	struct source *s = arg;
	bool stood = (s->standing & 1u << STANDING_OPERATOR) != 0;
	source_standing_set(s, STANDING_OPERATOR, s->pause.on);
	if (s->pause.on)
		log_pause(s, EV_source_paused);
	else if (stood)
		log_pause(s, EV_source_resumed);
	source_credit_settle(s);
	source_standing_end(s, STANDING_STORE);
	if (source_standing_goes(s))
		source_standing_let_all_go(s);
}

void
source_pause_start(struct source *s)
{
	pause_start(&s->pause, s->worker->store, s->worker->loop, "source",
	    s->source->name, on_pause, s);
}

void
source_pause_stop(struct source *s)
{
	pause_stop(&s->pause);
}
