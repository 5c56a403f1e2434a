/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "messages/source/sources_view.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_messages.h"
#include "operators/admin/admin_query.h"
#include "operators/admin/admin_sources.h"

enum { PATIENCE_MS = 5000 };

static enum after
misasked(struct admin_request *a, const char *message)
{
	return admin_answer_problem(a, PROBLEM_BAD_REQUEST, span_str(message));
}

/* --- a list --- */

/* Of digits and dashes, as Redis and PostgreSQL count. */
static bool
is_letter(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] != '-' &&
		    (text.ptr[i] < '0' || text.ptr[i] > '9'))
			return false;
	return text.len > 0 && text.len < BROKER_LETTER_ID_BYTES;
}

/*
 * The "next" of an earlier list is the time and the id of its last; of dead
 * letters, a letter's.
 */
static bool
take_cursor(struct inquiry *inquiry, struct span text)
{
	struct span time;
	if (memchr(text.ptr, '.', text.len) == NULL) {
		snprintf(inquiry->after, sizeof inquiry->after, "%.*s",
		    SPAN_FMT(text));
		return is_letter(text);
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

static bool
is_source(const struct conf *conf, struct span name)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (span_eq(name, span_str(conf->sources[i].name)))
			return true;
	return false;
}

/* What is wrong with what is asked for; NULL: nothing. */
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
			return misasked(a, message);
	}
	if (inquiry->source.len > 0 && !is_source(a->conf, inquiry->source))
		return admin_answer_problem(a, PROBLEM_NOT_FOUND,
		    admin_sources_absent(a, inquiry->source));
	const char *message = choose_list(inquiry);
	return message != NULL ? misasked(a, message)
			       : admin_request_to(a, ADMIN_SEEK, MORE);
}

static json_t *
message_json(const struct message_view *view)
{
	bool tried_again = view->next_ms > 0;
	bool is_letter = view->first.len > 0;
	return json_pack("{s:o, s:o, s:s, s:s*, s:o, s:s*, s:s*, s:o*, s:o*, "
			 "s:o, s:o*, s:o*, s:o*, s:o*}",
	    "id", admin_json_text(view->id),
	    "source", admin_json_text(span_str(view->source)),
	    "state", inquiry_word(view->state), "reason", view->reason,
	    "position", admin_json_text(view->position), "route", view->route,
	    "key_id", view->key_id[0] != '\0' ? view->key_id : NULL,
	    "label",
	    view->label.len > 0 ? admin_json_text(view->label) : NULL,
	    "attempt",
	    view->attempt > 0 ? json_integer(view->attempt) : NULL,
	    "first",
	    is_letter ? admin_json_text(view->first)
		      : admin_json_time(view->first_ms),
	    "next_try",
	    tried_again ? admin_json_time(view->next_ms) : NULL, "detail",
	    view->detail.len > 0 ? admin_json_text(view->detail) : NULL,
	    "status", view->status > 0 ? json_integer(view->status) : NULL,
	    view->is_base64 ? "answer_base64" : "answer",
	    view->answer.ptr != NULL ? admin_json_text(view->answer) : NULL);
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

/* What the workers have found, in one order, up to the page's end. */
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

static enum after
say_letters(struct admin_request *a, const struct inquiry *inquiry)
{
	json_t *list = json_array();
	for (struct message_view *v = inquiry->messages; v; v = v->next)
		json_array_append_new(list, message_json(v));
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:s?}", "messages", list, "next",
		inquiry->next[0] != '\0' ? inquiry->next : NULL));
}

/* --- one message --- */

static enum after
not_here(struct admin_request *a)
{
	return admin_answer_problem(a, PROBLEM_NOT_FOUND,
	    SPAN("This gateway has no message of this id: it is over, or "
		 "another gateway has taken it."));
}

static enum after
begin(struct admin_request *a, enum inquiry_kind kind, const char *message)
{
	if (message == NULL && a->head.target.has_query)
		message = "This request takes no parameters.";
	if (message != NULL)
		return misasked(a, message);
	struct inquiry *inquiry = inquiry_new(&a->inquiry, kind);
	if (!inquiry_read_id(inquiry->arena, a->name, &inquiry->source,
		&inquiry->position))
		return not_here(a);
	return admin_request_to(a, ADMIN_SEEK, MORE);
}

enum after
admin_messages_show(struct admin_request *a)
{
	return begin(a, INQUIRY_MESSAGE, NULL);
}

enum after
admin_messages_drop(struct admin_request *a)
{
	return begin(a, INQUIRY_DROP, admin_json_read_note(a));
}

enum after
admin_messages_replay(struct admin_request *a)
{
	return begin(a, INQUIRY_REPLAY, admin_json_read_note(a));
}

enum after
admin_messages_seek(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	inquiry_ask(&a->inquiry, sources_view, a->admin->workers,
	    (unsigned)a->admin->conf->workers, PATIENCE_MS);
	return admin_request_to(a, ADMIN_SOUGHT, WAIT);
}

/* view: what it was; NULL: not known. */
static void
log_act(const struct admin_request *a, enum event event,
    const struct message_view *view)
{
	struct logline line = log_begin(event);
	log_span(&line, "id", a->name);
	log_str(&line, "act",
	    a->endpoint->run == admin_messages_drop ? "drop" : "replay");
	if (view != NULL) {
		log_str(&line, "source", view->source);
		log_cut(&line, "position", view->position, 256);
		log_str(&line, "before", inquiry_word(view->state));
		if (view->key_id[0] != '\0')
			log_str(&line, "key_id", view->key_id);
	}
	if (a->note.len > 0)
		log_span(&line, "note", a->note);
	log_span(&line, "request_id", a->id);
	log_span(&line, "client", a->x->client);
	log_end(&line);
}

static enum after
unsure(struct admin_request *a)
{
	if (a->endpoint->run == admin_messages_replay) {
		log_act(a, EV_operator_message_unsure, NULL);
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED,
		    SPAN("The message has not begun yet: its source stands "
			 "still, or another of its order is at work. It is "
			 "executed when it can be, unless a reload changes its "
			 "source first. Look at it again."));
	}
	if (a->endpoint->run != admin_messages_drop)
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED, SPAN(""));
	log_act(a, EV_operator_message_unsure, NULL);
	return admin_answer_problem(a, PROBLEM_NOT_ANSWERED,
	    SPAN("The broker has not taken the message's acknowledgement in "
		 "time; it is repeated for as long as this gateway has the "
		 "message. Look at the message again."));
}

/* Why a dead letter stays what it is. */
static struct span
refusal_words(const struct admin_request *a, const struct inquiry *inquiry)
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
	const char *words = "It cannot be executed";
	bool of_broker = !strcmp(inquiry->refusal, "broker");
	if (of_broker && inquiry->detail.len == 0)
		return SPAN("The broker does not give its dead letters. "
			    "Nothing was changed.");
	if (of_broker)
		return arena_printf(a->arena,
		    "The broker does not give its dead letters (%.*s). "
		    "Nothing was changed.",
		    SPAN_FMT(inquiry->detail));
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(all[i].why, inquiry->refusal))
			return arena_printf(a->arena,
			    "%s Nothing was changed.", all[i].words);
	/* It may be a whole sentence. */
	struct span detail = inquiry->detail;
	if (detail.len > 0 && detail.ptr[detail.len - 1] == '.')
		detail.len--;
	return arena_printf(a->arena, "%s: %s%s%.*s. Nothing was changed.",
	    words, inquiry->refusal, detail.len > 0 ? ", " : "",
	    SPAN_FMT(detail));
}

/* A broker that is not there yet has refused nothing: ask again. */
static enum after
say_refused(struct admin_request *a, const struct inquiry *inquiry)
{
	bool of_broker = !strcmp(inquiry->refusal, "broker");
	return admin_answer_problem(a,
	    of_broker ? PROBLEM_NOT_ANSWERED : PROBLEM_CONFLICT,
	    refusal_words(a, inquiry));
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

/* Whether it waits until somebody decides about its key. */
static bool
is_held(const struct message_view *view)
{
	return view != NULL && view->state == MESSAGE_STATE_HELD &&
	    view->reason != NULL && !strcmp(view->reason, "unknown") &&
	    *view->key_id != '\0';
}

static enum after
say_replayed(struct admin_request *a, const struct inquiry *inquiry)
{
	if (inquiry->busy && is_held(inquiry->messages))
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    arena_printf(a->arena,
			"The message is no dead letter: it is held until its "
			"key is completed or released (onceproxy keys complete "
			"%s, or release). Nothing was changed.",
			inquiry->messages->key_id));
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
		admin_json_text(inquiry->messages->id), "replayed", 1));
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
		admin_json_text(inquiry->messages->id), "dropped", 1));
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
	if (inquiry->kind == INQUIRY_LETTERS && inquiry->refusal == NULL)
		return say_letters(a, inquiry);
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
