/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "messages/source/message_end.h"
#include "messages/source/restore.h"
#include "messages/source/shape.h"
#include "messages/source/source_proof.h"

/*
 * The broker's place is read twice: first for the marks, then for the copies.
 */
struct restore {
	struct source *source;
	struct inquiry *inquiry;
	struct broker_copies page;
	bool puts; /* the marks are known */
	struct hash done; /* of struct done: positions */
	struct broker_message *message; /* that is put, of the page */
	struct letter_op op;
	uint64_t restored, there, over;
	char store_id[72]; /* of the data that it began with */
};

struct done {
	struct hash_item item;
	uint8_t id[DIGEST_BYTES];
	bool now; /* since it began: whatever copy is read, it is older */
};

/* --- its end --- */

/* why NULL: all is done. */
static void
end(struct restore *r, const char *why)
{
	struct source *s = r->source;
	struct inquiry *inquiry = r->inquiry;
	const char *store_id = store_identity(s->worker->store)->data;
	/* With that went what was restored by then: nobody accepts it. */
	if (why == NULL && strcmp(r->store_id, store_id) != 0)
		why = "Redis has lost its data meanwhile: say it again.";
	struct logline line = why == NULL
	    ? log_begin(EV_source_restored)
	    : log_begin_as(EV_source_not_restored, true);
	log_str(&line, "source", s->source->name);
	log_int(&line, "restored", (int64_t)r->restored);
	log_int(&line, "there", (int64_t)r->there);
	log_int(&line, "over", (int64_t)r->over);
	if (why != NULL)
		log_str(&line, "error", why);
	log_end(&line);
	inquiry->done = why == NULL;
	inquiry->restored = r->restored;
	if (why != NULL)
		inquiry->detail = arena_dup(inquiry->arena, span_str(why));
	s->restore = NULL;
	struct done *done;
	HASH_EACH(done, &r->done, item)
	{
		hash_remove(&r->done, &done->item);
		free(done);
	}
	hash_free(&r->done);
	op_cancel(&r->page.op);
	op_cancel(&r->op.op.op);
	broker_message_free(&r->page.messages);
	broker_message_free(&r->message);
	free(r);
	letters_look(&s->letters);
	if (why == NULL)
		source_proof_accept(s);
	inquiry_go_on(inquiry);
}

void
restore_free(struct restore **restore)
{
	if (*restore != NULL)
		end(*restore, "The source was given up.");
	*restore = NULL;
}

/* --- which are done with --- */

static struct done *
find_done(const struct restore *r, const uint8_t id[DIGEST_BYTES])
{
	struct done *done;
	HASH_EACH_OF(done, &r->done, hash_of_digest(id), item)
	{
		if (!memcmp(done->id, id, DIGEST_BYTES))
			return done;
	}
	return NULL;
}

/* It is there from now on, if it was not yet. */
static struct done *
add_done(struct restore *r, const uint8_t id[DIGEST_BYTES])
{
	struct done *done = find_done(r, id);
	if (done != NULL)
		return done;
	done = mem_zero(sizeof *done);
	memcpy(done->id, id, sizeof done->id);
	hash_add(&r->done, &done->item, hash_of_digest(done->id));
	return done;
}

void
restore_over(struct restore *r, struct span position)
{
	const struct letter_name name = letter_stored_name(position, NULL);
	if (r != NULL)
		add_done(r, name.id)->now = true;
}

/* --- a letter again --- */

static struct span
text_of(const struct broker_message *m, struct span name)
{
	const struct field *field = fields_first(&m->fields, name);
	return field != NULL ? field->value : SPAN("");
}

static int64_t
number_of(const struct broker_message *m, struct span name)
{
	int64_t number;
	return digits_read(text_of(m, name), UINT32_MAX, &number) ? number
								  : 0;
}

/*
 * The message as it was, and what the copy says of it; in the lane of its
 * order, where it has one, and the source parks.
 */
static void
make_letter(struct restore *r, const struct broker_message *m,
    struct letter *ret_letter)
{
	const struct conf_source *conf = r->source->source;
	struct letters_lane lane;
	struct body body = {0};
	struct span detail;
	bool in_order = false;
	struct fields own = {
	    arena_alloc(m->arena, m->fields.count * sizeof(struct field)), 0};
	for (size_t i = 0; i < m->fields.count; i++)
		if (!span_starts(m->fields.list[i].name, SPAN("onceproxy-")))
			own.list[own.count++] = m->fields.list[i];
	*ret_letter = message_end_letter_of(m);
	ret_letter->fields = own;
	ret_letter->reason = text_of(m, SPAN("onceproxy-reason"));
	ret_letter->key_id = text_of(m, SPAN("onceproxy-key-id"));
	ret_letter->detail = text_of(m, SPAN("onceproxy-detail"));
	ret_letter->label = text_of(m, SPAN("onceproxy-label"));
	ret_letter->status = (int)number_of(m, SPAN("onceproxy-status"));
	ret_letter->attempt =
	    (uint32_t)number_of(m, SPAN("onceproxy-attempt"));
	if (!rfc3339_read(text_of(m, SPAN("onceproxy-first")),
		&ret_letter->first_ms))
		ret_letter->first_ms = clock_wall_ms();
	if (conf->order_by != SOURCE_ORDER_NONE && !conf->behind_go_on) {
		in_order =
		    shape_body(conf, m, &body, &detail) == SHAPE_GOOD &&
		    shape_order(conf, m, body_span(&body), lane.bytes);
		body_clear(&body);
	}
	ret_letter->name =
	    letter_stored_name(m->position, in_order ? &lane : NULL);
}

static void
ask_page(struct restore *r)
{
	snprintf(r->page.after, sizeof r->page.after, "%s", r->page.next);
	r->page.limit = BROKER_COPIES_MAX;
	broker_reader_copies(r->source->reader, &r->page);
}

static void
put_next(struct restore *r)
{
	struct letter letter;
	broker_message_free(&r->message);
	while (r->page.messages != NULL) {
		struct broker_message *m = r->page.messages;
		r->page.messages = m->next;
		m->next = NULL;
		r->message = m;
		r->op.arena = m->arena;
		make_letter(r, m, &letter);
		bool is_over = letter.reason.len == 0 ||
		    find_done(r, letter.name.id) != NULL;
		if (!is_over) {
			letter_put(&r->source->letters, &r->op, &letter,
			    LETTER_RESTORED,
			    letter_until_us(clock_us(), m->bytes));
			return;
		}
		r->over += letter.reason.len > 0;
		broker_message_free(&r->message);
	}
	if (r->page.next[0] == '\0')
		end(r, NULL);
	else
		ask_page(r);
}

static void
on_restored(void *arg)
{
	struct restore *r = arg;
	if (r->op.op.op.error != 0) {
		end(r, error_message(r->op.op.op.error));
		return;
	}
	if (r->op.op.verdict == VERDICT_LATE) {
		end(r, "Redis came to a letter too late: say it again.");
		return;
	}
	/* It is new where Redis had none. */
	bool is_new = r->op.letter.put_ms >= r->op.op.now_ms;
	r->restored += is_new;
	r->there += !is_new;
	put_next(r);
}

/* --- pages --- */

static void
on_copies(void *arg)
{
	struct restore *r = arg;
	bool in_order = r->source->source->broker->kind != BROKER_KAFKA;
	if (r->page.op.error != 0) {
		end(r,
		    r->page.refused[0] != '\0'
			? r->page.refused
			: error_message(r->page.op.error));
		return;
	}
	if (r->puts) {
		put_next(r);
		return;
	}
	/*
	 * What comes behind its mark is dead again.  Partitions of Kafka are
	 * read one after the other, and a mark may be in another one than its
	 * copy: there what is over stays over.
	 */
	const struct broker_message *m = r->page.messages;
	for (; m != NULL; m = m->next) {
		struct letter_name name = letter_stored_name(m->position, NULL);
		struct done *done = find_done(r, name.id);
		if (fields_first(&m->fields, SPAN("onceproxy-done")) != NULL) {
			(void)add_done(r, name.id);
		} else if (in_order && done != NULL && !done->now) {
			hash_remove(&r->done, &done->item);
			free(done);
		}
	}
	broker_message_free(&r->page.messages);
	r->puts = r->page.next[0] == '\0';
	ask_page(r);
}

void
restore_begin(struct source *s, struct inquiry *inquiry)
{
	struct restore *r = mem_zero(sizeof *r);
	must(s->restore == NULL);
	r->source = s;
	r->inquiry = inquiry;
	s->restore = r;
	snprintf(r->store_id, sizeof r->store_id, "%s",
	    store_identity(s->worker->store)->data);
	op_init(&r->page.op, s->worker->loop, on_copies, r);
	op_init(&r->op.op.op, s->worker->loop, on_restored, r);
	ask_page(r);
}
