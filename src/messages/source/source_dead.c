/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "messages/source/inquiry.h"
#include "messages/source/letter_view.h"
#include "messages/source/source.h"
#include "messages/source/source_dead.h"

enum {
	FRESH_MS = 5000,
	PATIENCE_MS = 2000, /* then whoever asks goes on without it */
	COUNT_MAX = 1000,
	ROUNDS_MAX = 50, /* all that a page has seen may be finished */
};

/* An inquiry that waits for the count; of its arena. */
struct source_dead_wait {
	struct source_dead_wait *next;
	struct inquiry *inquiry;
	struct source_view *view;
};

/* --- whoever asks --- */

static void
set_view(const struct source_dead *dead, struct source_view *view)
{
	view->dead = dead->count;
	view->dead_more = dead->more;
}

static void
tell_all(struct source_dead *dead)
{
	struct source_dead_wait *wait = dead->waits;
	dead->waits = NULL;
	timer_clear(&dead->patience);
	while (wait != NULL) {
		struct source_dead_wait *next = wait->next;
		struct inquiry *inquiry = wait->inquiry;
		set_view(dead, wait->view);
		if (--inquiry->awaited == 0)
			inquiry_go_on(inquiry);
		wait = next;
	}
}

static void
on_patience(void *arg)
{
	struct source *s = arg;
	s->dead.count = -1;
	s->dead.more = false;
	tell_all(&s->dead);
}

/* --- the count --- */

static void
end_count(struct source *s, int64_t count, bool more)
{
	struct source_dead *dead = &s->dead;
	dead->counts = false;
	dead->count = count;
	dead->more = more;
	dead->known &= count >= 0;
	dead->known_ms = loop_now_ms(s->worker->loop);
	tell_all(dead);
}

static void
ask_letters(struct source *s)
{
	struct source_dead *dead = &s->dead;
	dead->rounds++;
	broker_reader_letters(s->reader, &dead->page);
}

static void
count_page(struct source_dead *dead)
{
	for (const struct broker_message *m = dead->page.messages; m != NULL;
	     m = m->next)
		dead->found += !letter_view_is_parked(m);
	broker_messages_free(&dead->page.messages);
	snprintf(dead->page.after, sizeof dead->page.after, "%s",
	    dead->page.next);
}

static void
on_counted(void *arg)
{
	struct source *s = arg;
	struct source_dead *dead = &s->dead;
	if (dead->page.op.error != 0) {
		end_count(s, -1, false);
		return;
	}
	count_page(dead);
	bool more = dead->page.next[0] != '\0';
	if (more && dead->found < COUNT_MAX && dead->rounds < ROUNDS_MAX)
		ask_letters(s);
	else
		end_count(s, dead->found, more);
}

static void
begin_count(struct source *s)
{
	struct source_dead *dead = &s->dead;
	struct loop *loop = s->worker->loop;
	dead->counts = dead->known = true;
	dead->found = 0;
	dead->rounds = 0;
	dead->page = (struct broker_letters){
	    .limit = BROKER_LETTERS_MAX, .brief = true};
	op_init(&dead->page.op, loop, on_counted, s);
	ask_letters(s);
}

/* --- from outside --- */

void
source_dead_tell(
    struct source *s, struct inquiry *inquiry, struct source_view *view)
{
	struct source_dead *dead = &s->dead;
	struct loop *loop = s->worker->loop;
	view->dead = -1;
	if (s->reader == NULL || s->draining)
		return;
	if (!dead->counts && dead->known &&
	    loop_now_ms(loop) - dead->known_ms < FRESH_MS) {
		set_view(dead, view);
		return;
	}
	struct source_dead_wait *wait =
	    arena_alloc(inquiry->arena, sizeof *wait);
	*wait = (struct source_dead_wait){dead->waits, inquiry, view};
	if (dead->waits == NULL) {
		timer_init(&dead->patience, loop, on_patience, s);
		timer_set(&dead->patience, PATIENCE_MS);
	}
	dead->waits = wait;
	inquiry->awaited++;
	if (!dead->counts)
		begin_count(s);
}

void
source_dead_changed(struct source *s)
{
	s->dead.known = false;
}

void
source_dead_stop(struct source *s)
{
	struct source_dead *dead = &s->dead;
	if (dead->counts) {
		op_cancel(&dead->page.op);
		broker_messages_free(&dead->page.messages);
		end_count(s, -1, false);
	}
	tell_all(dead);
	dead->known = false;
}
