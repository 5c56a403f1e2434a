/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "messages/source/sources_view.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"
#include "operators/admin/admin_query.h"

/*
 * Operators see the messages that this gateway has taken, and dead letters, and
 * act on them.  The thread of their source's worker decides whether a message's
 * state allows an act, and every act is logged.
 */
enum { PATIENCE_MS = 5000 };

/* The workers whose sources it may be about are asked. */
static enum after
seek(struct admin_request *a)
{
	inquiry_ask(&a->inquiry, sources_view, a->admin->workers,
	    (unsigned)a->admin->conf->workers, PATIENCE_MS);
	return admin_request_to(a, ADMIN_SOUGHT, WAIT);
}

/* --- a list --- */

/*
 * The "next" of an earlier list is the time and the id of its last; of dead
 * letters, the id of one, which has digits and dashes as Redis and PostgreSQL
 * count.
 */
static bool
take_cursor(struct inquiry *inquiry, struct span text)
{
	struct span time;
	if (memchr(text.ptr, '.', text.len) == NULL) {
		snprintf(inquiry->after, sizeof inquiry->after, "%.*s",
		    SPAN_FMT(text));
		return text.len > 0 && text.len < BROKER_LETTER_ID_BYTES &&
		    strspn(inquiry->after, "-0123456789") == text.len;
	}
	if (!span_next(&text, '.', &time) || text.ptr == NULL)
		return false;
	inquiry->after_id = arena_dup(inquiry->arena, text);
	return time.len <= 15 &&
	    digits_read(time, 999999999999999, &inquiry->after_ms);
}

static bool
take_word(struct inquiry *inquiry, struct span word)
{
	for (unsigned i = 0; i < INQUIRY_LISTED; i++)
		if (span_eq(word,
			span_str(inquiry_word((enum message_state)i))))
			return inquiry->wanted[i] = true;
	if (span_eq(word, span_str(inquiry_word(MESSAGE_STATE_DEAD))))
		return inquiry->dead = true;
	if (span_eq(word, span_str(inquiry_word(MESSAGE_STATE_PARKED))))
		return inquiry->parked = true;
	return false;
}

static const char *
take_parameter(
    struct inquiry *inquiry, struct span name, struct span value)
{
	if (span_eq(name, SPAN("state")))
		return take_word(inquiry, value)
		    ? NULL
		    : "\"state\" must be held, retrying, waiting, dead or "
		      "parked.";
	if (span_eq(name, SPAN("limit")))
		return admin_query_limit(value, &inquiry->limit)
		    ? NULL
		    : "\"limit\" must be a number of at least 1.";
	if (span_eq(name, SPAN("cursor")))
		return take_cursor(inquiry, value)
		    ? NULL
		    : "\"cursor\" is not the \"next\" of an earlier list.";
	if (!span_eq(name, SPAN("source")))
		return "The only parameters are \"source\", \"state\", "
		       "\"limit\" and \"cursor\".";
	inquiry->source = arena_dup(inquiry->arena, value);
	return NULL;
}

/* Chooses the kind of list.  NULL, or a sentence on what does not fit. */
static const char *
choose_list(struct inquiry *inquiry)
{
	bool any = false;
	bool letters = inquiry->dead || inquiry->parked;
	for (unsigned i = 0; i < INQUIRY_LISTED; i++)
		any = any || inquiry->wanted[i];
	if (letters && (any || inquiry->source.len == 0))
		return "A list of dead or parked messages is of one "
		       "\"source\", and has no others in it.";
	if (letters != (inquiry->after[0] != '\0') &&
	    (inquiry->after[0] != '\0' || inquiry->after_id.len > 0))
		return "\"cursor\" is not the \"next\" of such a list.";
	if (letters)
		inquiry->kind = INQUIRY_LETTERS;
	/* Those that wait would hide what they wait behind. */
	for (unsigned i = 0; i < MESSAGE_STATE_WAITING && !any; i++)
		inquiry->wanted[i] = true;
	return NULL;
}

enum after
admin_messages_list(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	struct inquiry *inquiry = inquiry_new(&a->inquiry, INQUIRY_MESSAGES);
	inquiry->limit = ADMIN_QUERY_LIMIT;
	while (admin_query_next(&query, &name, &value)) {
		const char *message = take_parameter(inquiry, name, value);
		if (message != NULL)
			return admin_answer_bad_request(a, message);
	}
	bool found = inquiry->source.len == 0;
	for (size_t i = 0; i < a->conf->n_sources && !found; i++)
		found = span_eq(
		    inquiry->source, span_str(a->conf->sources[i].name));
	if (!found)
		return admin_answer_problem(a, PROBLEM_NOT_FOUND,
		    admin_sources_absent(a, inquiry->source));
	const char *message = choose_list(inquiry);
	if (message != NULL)
		return admin_answer_bad_request(a, message);
	return seek(a);
}

static json_t *
message_json(const struct message_view *view)
{
	bool tried_again = view->next_ms > 0;
	bool is_letter = view->first.len > 0;
	return json_pack("{s:o, s:o, s:s, s:s*, s:o, s:s*, s:s*, s:o*, s:o*, "
			 "s:o, s:o*, s:o*, s:o*, s:o*}",
	    "id", admin_body_text(view->id),
	    "source", admin_body_text(span_str(view->source)),
	    "state", inquiry_word(view->state), "reason", view->reason,
	    "position", admin_body_text(view->position), "route", view->route,
	    "key_id", view->key_id[0] != '\0' ? view->key_id : NULL,
	    "label",
	    view->label.len > 0 ? admin_body_text(view->label) : NULL,
	    "attempt",
	    view->attempt > 0 ? json_integer(view->attempt) : NULL,
	    "first",
	    is_letter ? admin_body_text(view->first)
		      : admin_body_time(view->first_ms),
	    "next_try",
	    tried_again ? admin_body_time(view->next_ms) : NULL, "detail",
	    view->detail.len > 0 ? admin_body_text(view->detail) : NULL,
	    "status", view->status > 0 ? json_integer(view->status) : NULL,
	    view->is_base64 ? "answer_base64" : "answer",
	    view->answer.ptr != NULL ? admin_body_text(view->answer) : NULL);
}

static int
compare_messages(const void *a, const void *b)
{
	const struct message_view *one = *(struct message_view *const *)a;
	const struct message_view *other = *(struct message_view *const *)b;
	if (one->first_ms != other->first_ms)
		return one->first_ms < other->first_ms ? -1 : 1;
	return inquiry_compare_ids(one->id, other->id);
}

/* Answers with all workers' messages, in one order, up to the page's end. */
static enum after
say_list(struct admin_request *a, const struct inquiry *inquiry)
{
	size_t count = 0;
	struct message_view **all = arena_alloc(
	    a->arena, (inquiry->count + 1) * sizeof(struct message_view *));
	for (struct message_view *v = inquiry->messages; v; v = v->next)
		all[count++] = v;
	qsort(all, count, sizeof *all, compare_messages);
	bool more = count > inquiry->limit;
	count = more ? inquiry->limit : count;
	json_t *list = json_array(), *next = json_null();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, message_json(all[i]));
	if (more)
		next = json_sprintf("%lld.%.*s",
		    (long long)all[count - 1]->first_ms,
		    SPAN_FMT(all[count - 1]->id));
	return admin_answer_json(
	    a, 200, json_pack("{s:o, s:o}", "messages", list, "next", next));
}

/* --- one message --- */

static enum after
not_here(struct admin_request *a)
{
	return admin_answer_problem(a, PROBLEM_NOT_FOUND,
	    SPAN("This gateway has no message of this id: it is over, or "
		 "another gateway has taken it."));
}

enum after
admin_messages_one(struct admin_request *a)
{
	struct inquiry *inquiry = inquiry_new(
	    &a->inquiry, (enum inquiry_kind)a->endpoint->what);
	if (!inquiry_read_id(inquiry->arena, a->name, &inquiry->source,
		&inquiry->position))
		return not_here(a);
	return seek(a);
}

/* Logs an act on a message, view before it; NULL: it is not known. */
static void
log_act(const struct admin_request *a, enum event event,
    const struct message_view *view)
{
	struct logline line = log_begin(event);
	log_span(&line, "id", a->name);
	log_str(&line, "act",
	    a->endpoint->what == INQUIRY_DROP ? "drop" : "replay");
	if (view != NULL) {
		log_str(&line, "source", view->source);
		log_cut(&line, "position", view->position, 256);
		log_str(&line, "before", inquiry_word(view->state));
		if (view->key_id[0] != '\0')
			log_str(&line, "key_id", view->key_id);
	}
	admin_answer_log(a, &line);
}

/* Answers that none came from the thread that decides. */
static enum after
unsure(struct admin_request *a)
{
	unsigned kind = a->endpoint->what;
	struct span detail = SPAN("");
	if (kind == INQUIRY_REPLAY)
		detail =
		    SPAN("The message has not begun yet: its source stands "
			 "still, or another of its order is at work. It is "
			 "executed when it can be, unless a reload changes its "
			 "source first. Look at it again.");
	else if (kind == INQUIRY_DROP)
		detail =
		    SPAN("The broker has not taken the message's "
			 "acknowledgement in time; it is repeated for as long "
			 "as this gateway has the message. Look at the message "
			 "again.");
	if (kind == INQUIRY_REPLAY || kind == INQUIRY_DROP)
		log_act(a, EV_operator_message_unsure, NULL);
	return admin_answer_problem(a, PROBLEM_NOT_ANSWERED, detail);
}

/* Says why a dead letter stays one. */
static enum after
say_refused(struct admin_request *a, const struct inquiry *inquiry)
{
	static const struct {
		const char *why;
		const char *words;
	} all[] = {
	    {"unknown", "Nobody knows whether it was executed: complete or "
			"release its key first."},
	    {"forgotten", "Nobody knew whether it was executed, and its record "
			  "is gone: ask the upstream, then drop it."},
	    {"refused", "The upstream has refused it, and that is stored: "
			"delete its key to have it executed again."},
	    {"mismatch", "Its key was used for another request: drop it, or "
			 "have it produced again under another key."},
	    {"in-flight", "Its key is being executed now."},
	    {"broken", "The record of its key is damaged."},
	    {"behind", "It is parked behind another message of its order: "
		       "replay or drop the first one."},
	    {"full", "Too many dead letters of its partition were finished "
		     "behind unfinished ones: replay or drop the oldest "
		     "first."},
	    {"store", "Redis was not reached, or did not take it."},
	};
	struct span detail = inquiry->detail;
	/* A broker out of reach has refused nothing: one may ask again. */
	if (!strcmp(inquiry->refusal, "broker"))
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED,
		    arena_printf(a->arena,
			"The broker does not give its dead letters%s%.*s%s. "
			"Nothing was changed.", detail.len > 0 ? " (" : "",
			SPAN_FMT(detail), detail.len > 0 ? ")" : ""));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].why, inquiry->refusal))
			return admin_answer_problem(a, PROBLEM_CONFLICT,
			    arena_printf(a->arena, "%s Nothing was changed.",
				all[i].words));
	/* It may be a whole sentence. */
	if (detail.len > 0 && detail.ptr[detail.len - 1] == '.')
		detail.len--;
	return admin_answer_problem(a, PROBLEM_CONFLICT,
	    arena_printf(a->arena,
		"It cannot be executed: %s%s%.*s. Nothing was changed.",
		inquiry->refusal, detail.len > 0 ? ", " : "",
		SPAN_FMT(detail)));
}

static enum after
say_elsewhere(struct admin_request *a, const struct inquiry *inquiry)
{
	const char *behind = inquiry->kind == INQUIRY_LETTERS ||
		inquiry->kind == INQUIRY_MESSAGE
	    ? ""
	    : " Nothing was changed.";
	return admin_answer_problem(a, PROBLEM_CONFLICT,
	    inquiry->holder.len > 0
		? arena_printf(a->arena, "The gateway \"%.*s\" reads this "
		      "source now: ask that one.%s",
		      SPAN_FMT(inquiry->holder), behind)
		: arena_printf(a->arena, "Another gateway reads this source, "
		      "or this order of it, now: ask that one.%s", behind));
}

static enum after
say_replayed(struct admin_request *a, const struct inquiry *inquiry)
{
	const struct message_view *view = inquiry->messages;
	/* A held one waits until somebody decides about its key. */
	if (inquiry->busy && view != NULL &&
	    view->state == MESSAGE_STATE_HELD && view->reason != NULL &&
	    !strcmp(view->reason, "unknown") && *view->key_id != '\0')
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    arena_printf(a->arena,
			"The message is no dead letter: it is held until its "
			"key is completed or released (onceproxy keys complete "
			"%s, or release). Nothing was changed.",
			view->key_id));
	if (inquiry->busy)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The message is no dead letter: it is at work, or "
			 "waits. Nothing was changed."));
	if (inquiry->refusal != NULL)
		return say_refused(a, inquiry);
	if (!inquiry->done)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The source was given up before the message could "
			 "begin. Look at it again."));
	log_act(a, EV_operator_replay, inquiry->messages);
	return admin_answer_json(a, 202,
	    json_pack("{s:o, s:b}", "id",
		admin_body_text(inquiry->messages->id), "replayed", 1));
}

static enum after
say_dropped(struct admin_request *a, const struct inquiry *inquiry)
{
	if (inquiry->busy)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The message is being executed or acknowledged. "
			 "Nothing was changed."));
	if (!inquiry->done)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The message was not acknowledged: it was lost, or "
			 "given back to its broker, or that does not let it "
			 "be finished. Look at it again."));
	log_act(a, EV_operator_message, inquiry->messages);
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:b}", "id",
		admin_body_text(inquiry->messages->id), "dropped", 1));
}

enum after
admin_messages_sought(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct inquiry *inquiry = a->inquiry.inquiry;
	if (a->inquiry.op.error != 0)
		return unsure(a);
	if (inquiry->kind == INQUIRY_MESSAGES)
		return say_list(a, inquiry);
	if (inquiry->elsewhere)
		return say_elsewhere(a, inquiry);
	if (inquiry->kind == INQUIRY_LETTERS && inquiry->refusal == NULL) {
		json_t *list = json_array();
		for (struct message_view *v = inquiry->messages; v; v = v->next)
			json_array_append_new(list, message_json(v));
		return admin_answer_json(a, 200,
		    json_pack("{s:o, s:s?}", "messages", list, "next",
			inquiry->next[0] != '\0' ? inquiry->next : NULL));
	}
	if (!inquiry->found)
		return not_here(a);
	if (inquiry->kind == INQUIRY_REPLAY)
		return say_replayed(a, inquiry);
	if (inquiry->refusal != NULL)
		return say_refused(a, inquiry);
	if (inquiry->kind == INQUIRY_DROP)
		return say_dropped(a, inquiry);
	return admin_answer_json(a, 200, message_json(inquiry->messages));
}
