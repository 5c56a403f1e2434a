/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/loop/log.h"
#include "base/utf8.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

/*
 * What an operator sees of messages, and does to them; every act is logged.
 * Those that are at work, or wait, are in this gateway: the thread of their
 * source's worker tells of them, and decides whether a message's state allows
 * an act.  Dead and parked ones are letters (messages/shared/letters.h), in
 * Redis, whichever gateway has their source; that one does what is asked here.
 */
enum { PATIENCE_MS = 5000, AGAIN_MS = 100, SEE_OTHER = 303 };

/* --- a list --- */

/*
 * The "next" of an earlier list is the time and the id of its last, with a dot
 * between them; of letters, what letters_list has made.
 */
static bool
take_cursor(struct admin_request *a, struct span text)
{
	struct inquiry *inquiry = a->inquiry.inquiry;
	struct span time;
	if (letters_list_is_next(text)) {
		snprintf(a->letter_list.after, sizeof a->letter_list.after,
		    "%.*s", SPAN_FMT(text));
		return true;
	}
	if (!span_next(&text, '.', &time) || text.ptr == NULL)
		return false;
	inquiry->after_id = arena_dup(inquiry->arena, text);
	return time.len <= 15 &&
	    digits_read(time, 999999999999999, &inquiry->after_ms);
}

static bool
take_word(struct admin_request *a, struct span word)
{
	for (unsigned i = 0; i < INQUIRY_LISTED; i++)
		if (span_eq(word, span_str(inquiry_words[i])))
			return a->inquiry.inquiry->wanted[i] = true;
	if (span_eq(word, span_str(inquiry_words[MESSAGE_STATE_DEAD])))
		return a->letter_list.dead = true;
	if (span_eq(word, span_str(inquiry_words[MESSAGE_STATE_PARKED])))
		return a->letter_list.parked = true;
	return false;
}

static const char *
take_parameter(struct admin_request *a, struct span name, struct span value)
{
	struct inquiry *inquiry = a->inquiry.inquiry;
	if (span_eq(name, SPAN("state")))
		return take_word(a, value)
		    ? NULL
		    : "\"state\" must be held, retrying, waiting, dead or "
		      "parked.";
	if (span_eq(name, SPAN("limit")))
		return admin_body_limit(value, &inquiry->limit)
		    ? NULL
		    : "\"limit\" must be a number of at least 1.";
	if (span_eq(name, SPAN("cursor")))
		return take_cursor(a, value)
		    ? NULL
		    : "\"cursor\" is not the \"next\" of an earlier list.";
	if (!span_eq(name, SPAN("source")))
		return "The only parameters are \"source\", \"state\", "
		       "\"limit\" and \"cursor\".";
	inquiry->source = arena_dup(inquiry->arena, value);
	return NULL;
}

enum after
admin_messages_list(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	struct inquiry *inquiry = inquiry_new(&a->inquiry, INQUIRY_MESSAGES);
	struct letters_list *list = &a->letter_list;
	inquiry->limit = ADMIN_BODY_LIMIT;
	while (admin_body_parameter(&query, &name, &value)) {
		const char *message = take_parameter(a, name, value);
		if (message != NULL)
			return admin_answer_bad_request(a, message);
	}
	const struct conf_source *source =
	    admin_sources_named(a, inquiry->source);
	if (source == NULL && inquiry->source.len > 0)
		return admin_sources_absent(a, "source", inquiry->source);
	bool any = false, letters = list->dead || list->parked;
	for (unsigned i = 0; i < INQUIRY_LISTED; i++)
		any = any || inquiry->wanted[i];
	if (letters && (any || source == NULL))
		return admin_answer_bad_request(a,
		    "A list of dead or parked messages is of one \"source\", "
		    "and has no others in it.");
	if (letters ? inquiry->after_id.len > 0 : list->after[0] != '\0')
		return admin_answer_bad_request(a,
		    "\"cursor\" is not the \"next\" of such a list.");
	/* Those that wait would hide what they wait behind. */
	for (unsigned i = 0; i < MESSAGE_STATE_WAITING && !any; i++)
		inquiry->wanted[i] = true;
	if (!letters)
		return admin_sources_ask(a, PATIENCE_MS, ADMIN_SOUGHT);
	letters_init(&a->letters, a->admin->store, source->name);
	list->limit = inquiry->limit < LETTERS_PAGE_MAX ? inquiry->limit
							: LETTERS_PAGE_MAX;
	letters_list(&a->letters, list);
	return admin_request_to(a, ADMIN_LETTERS_LISTED, WAIT);
}

static json_t *
message_json(const struct message_view *view)
{
	/* Who has changed a letter in Redis may have left no UTF-8. */
	return json_pack("{s:o, s:o, s:s, s:o*, s:o, s:o*, s:s*, s:o*, s:o*, "
			 "s:o, s:o*, s:o*, s:o*, s:o*}",
	    "id",
	    view->id.len > 0 ? answer_json_text(view->id) : json_null(),
	    "source", answer_json_text(span_str(view->source)),
	    "state", inquiry_words[view->state], "reason",
	    view->reason != NULL ? answer_json_text(span_str(view->reason))
				 : NULL,
	    "position", answer_json_text(view->position), "route",
	    view->route != NULL ? answer_json_text(span_str(view->route))
				: NULL,
	    "key_id", view->key_id[0] != '\0' ? view->key_id : NULL,
	    "label", admin_body_text(view->label),
	    "attempt",
	    view->attempt > 0 ? json_integer(view->attempt) : NULL,
	    "first", admin_body_time(view->first_ms), "next_try",
	    view->next_ms > 0 ? admin_body_time(view->next_ms) : NULL,
	    "detail", admin_body_text(view->detail),
	    "status", view->status > 0 ? json_integer(view->status) : NULL,
	    view->is_base64 ? "answer_base64" : "answer",
	    view->answer.ptr != NULL ? answer_json_text(view->answer) : NULL);
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

/* The messages of all workers, in one order, up to the page's end. */
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

/* --- letters --- */

/* As a list has it, or whole: of the request's arena. */
static struct message_view *
view_letter(const struct admin_request *a, const struct letter *letter)
{
	struct message_view *view = arena_alloc(a->arena, sizeof *view);
	struct span answer = letter->answer;
	bool opens = letter->position.len > 0;
	*view = (struct message_view){
	    .id = opens ? inquiry_id(a->arena,
			      span_str(a->letters.shared.name),
			      letter->position)
			: SPAN(""),
	    .source = a->letters.shared.name,
	    .position = letter->position,
	    .state = letter->parked ? MESSAGE_STATE_PARKED
				    : MESSAGE_STATE_DEAD,
	    .reason = arena_dup(a->arena, letter->reason).ptr,
	    .route = letter->route.len > 0
		? arena_dup(a->arena, letter->route).ptr
		: NULL,
	    .key_id = arena_dup(a->arena, letter->key_id).ptr,
	    .label = letter->label,
	    .attempt = letter->attempt,
	    .first_ms = opens ? letter->first_ms : letter->put_ms,
	    .detail = opens
		? letter->detail
		: SPAN("it does not open: store.encryption_keys does not have "
		       "its key, or it was changed in Redis"),
	    .status = letter->status,
	    .answer = answer,
	    .is_base64 = answer.ptr != NULL && !utf8_is_valid(answer),
	};
	if (view->is_base64) {
		char *text = base64_encode(answer);
		view->answer = arena_dup(a->arena, span_str(text));
		free(text);
	}
	return view;
}

enum after
admin_messages_letters_listed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct letters_list *found = &a->letter_list;
	if (found->op.op.error != 0)
		return admin_answer_store_failed(
		    a, &found->op.op, "; there is no list.");
	json_t *list = json_array();
	for (size_t i = 0; i < found->count; i++)
		json_array_append_new(
		    list, message_json(view_letter(a, &found->letters[i])));
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:s?}", "messages", list, "next",
		found->next[0] != '\0' ? found->next : NULL));
}

/* --- one message --- */

static enum after
not_here(struct admin_request *a)
{
	return admin_answer_problem(a, PROBLEM_NOT_FOUND,
	    SPAN("There is no dead or parked message of this id, and this "
		 "gateway has none at work: it is over, or another gateway "
		 "has taken it."));
}

enum after
admin_messages_one(struct admin_request *a)
{
	struct inquiry *inquiry = inquiry_new(
	    &a->inquiry, (enum inquiry_kind)a->endpoint->what);
	if (!inquiry_read_id(inquiry->arena, a->name, &inquiry->source,
		&inquiry->position))
		return not_here(a);
	return admin_sources_ask(a, PATIENCE_MS, ADMIN_SOUGHT);
}

/* view: the message before the act; NULL: it is not known. */
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
		log_str(&line, "before", inquiry_words[view->state]);
		log_any(&line, "key_id", span_str(view->key_id));
	}
	admin_answer_log(a, &line);
}

static enum after
say_done(struct admin_request *a, const struct message_view *view)
{
	bool drops = a->endpoint->what == INQUIRY_DROP;
	log_act(a, drops ? EV_operator_message : EV_operator_replay, view);
	return admin_answer_json(a, drops ? 200 : 202,
	    json_pack("{s:o, s:b}", "id", answer_json_text(view->id),
		drops ? "dropped" : "replayed", 1));
}

/* No answer came from who does it. */
static enum after
unsure(struct admin_request *a, struct span detail)
{
	if (a->endpoint->what == INQUIRY_DROP)
		log_act(a, EV_operator_message_unsure, NULL);
	return admin_answer_problem(a, PROBLEM_NOT_ANSWERED, detail);
}

/* --- that is at work, or waits --- */

static enum after
say_replayed(struct admin_request *a, const struct inquiry *inquiry)
{
	const struct message_view *view = inquiry->messages;
	/* A held one waits until somebody decides about its key. */
	if (view->state == MESSAGE_STATE_HELD && view->reason != NULL &&
	    !strcmp(view->reason, "unknown") && *view->key_id != '\0')
		return admin_answer_refused(a,
		    "The message is no dead letter: it is held until its key "
		    "is completed or released (onceproxy keys complete %s, or "
		    "release).", view->key_id);
	return admin_answer_refused(
	    a, "The message is no dead letter: it is at work, or waits.");
}

static enum after
say_dropped(struct admin_request *a, const struct inquiry *inquiry)
{
	if (inquiry->busy)
		return admin_answer_refused(
		    a, "The message is being executed or acknowledged.");
	if (!inquiry->done)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The message was not acknowledged: it was lost, or "
			 "given back to its broker, or that does not let it "
			 "be finished. Look at it again."));
	return say_done(a, inquiry->messages);
}

enum after
admin_messages_sought(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct inquiry *inquiry = a->inquiry.inquiry;
	if (a->inquiry.op.error != 0)
		return unsure(a,
		    a->endpoint->what == INQUIRY_DROP
			? SPAN("The broker has not taken the message's "
			       "acknowledgement in time; it is repeated for as "
			       "long as this gateway has the message. Look at "
			       "the message again.")
			: SPAN(""));
	if (inquiry->kind == INQUIRY_MESSAGES)
		return say_list(a, inquiry);
	if (inquiry->found && inquiry->kind == INQUIRY_REPLAY)
		return say_replayed(a, inquiry);
	if (inquiry->found && inquiry->kind == INQUIRY_DROP)
		return say_dropped(a, inquiry);
	if (inquiry->found)
		return admin_answer_json(
		    a, 200, message_json(inquiry->messages));
	/* It may be a letter. */
	const struct conf_source *source =
	    admin_sources_named(a, inquiry->source);
	if (source == NULL)
		return not_here(a);
	letters_init(&a->letters, a->admin->store, source->name);
	letter_seek(&a->letters, &a->letter, inquiry->position);
	return admin_request_to(a, ADMIN_LETTER_SOUGHT, WAIT);
}

/* --- that is a letter --- */

static const char in_doubt[] =
    ". What was asked may have come about: look at the message again.";

/* Why this letter, or what it is now, does not allow the act; NULL: it does. */
static const char *
why_not(const struct admin_request *a, enum letter_state state)
{
	bool replays = a->endpoint->what == INQUIRY_REPLAY;
	if (state == LETTER_WRITTEN)
		return "Its broker has not confirmed yet that the message is "
		       "acknowledged: ask again in a moment.";
	if (a->letter.letter.parked && replays)
		return "It is parked behind another message of its order: "
		       "replay or drop the first one.";
	if (replays && a->letter.letter.is_cut)
		return "It was too large to be kept in Redis: drop it, and "
		       "have it produced again.";
	return NULL;
}

static enum after
ask(struct admin_request *a)
{
	const struct letter_name name = a->letter.letter.name;
	letter_do(&a->letters, &a->letter, LETTER_ASK, &name,
	    a->endpoint->what == INQUIRY_DROP ? LETTER_DROP : LETTER_REPLAY,
	    NULL);
	a->until_us = clock_us() + PATIENCE_MS * INT64_C(1000);
	return admin_request_to(a, ADMIN_ASKED, WAIT);
}

/* What its key's record says comes first. */
static enum after
ask_record(struct admin_request *a)
{
	struct key_id key_id;
	bool again = a->look.op.verdict == VERDICT_DONE;
	if (!hex_decode(a->letter.letter.key_id, key_id.bytes, DIGEST_BYTES))
		return admin_answer_refused(a, "The id of its key is damaged.");
	records_show(a->admin->store, &a->look, &key_id,
	    again ? RECORDS_WHOLE : RECORDS_STATUS);
	return admin_request_to(a, ADMIN_LOOKED, WAIT);
}

enum after
admin_messages_letter_sought(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct letter_op *sought = &a->letter;
	unsigned kind = a->endpoint->what;
	if (sought->op.op.error != 0)
		return admin_answer_store_failed(a, &sought->op.op, in_doubt);
	if (sought->op.verdict != VERDICT_DONE)
		return not_here(a);
	a->message = view_letter(a, &sought->letter);
	/* Where it does not open, its place is known all the same. */
	a->message->id = a->name;
	a->message->position = a->inquiry.inquiry->position;
	if (kind == INQUIRY_MESSAGE)
		return admin_answer_json(a, 200, message_json(a->message));
	const char *why = why_not(a, sought->letter.state);
	if (why != NULL)
		return admin_answer_refused(a, "%s", why);
	if (kind == INQUIRY_DROP)
		return ask(a);
	if (sought->sealed_shut)
		return admin_answer_refused(a,
		    "It does not open: store.encryption_keys does not have its "
		    "key, or it was changed in Redis.");
	return *a->message->key_id != '\0' ? ask_record(a) : ask(a);
}

/* Why the record of its key keeps it a letter; NULL: it does not. */
static const char *
record_forbids(const struct admin_request *a)
{
	const struct store_op *op = &a->look.op;
	struct span reason = a->letter.letter.reason;
	int status = op->answer != NULL ? op->answer->status : a->look.status;
	const struct conf_source *source =
	    admin_sources_named(a, span_str(a->letters.shared.name));
	bool acknowledged = status / 100 == 2 || status == SEE_OTHER ||
	    (source != NULL && source->refused_ack);
	/* Redis has come back as it was before: as in delivery_claim.c. */
	bool gone = op->verdict == VERDICT_GONE ||
	    (op->verdict == VERDICT_DONE && op->state != STATE_COMPLETED &&
		op->attempt < a->letter.letter.attempt);
	if (gone && span_eq(reason, SPAN("unknown")))
		return "Nobody knew whether it was executed, and its record is "
		       "gone, or is of an attempt before: ask the upstream, "
		       "then drop it.";
	if (op->verdict != VERDICT_GONE && op->verdict != VERDICT_DONE)
		return "The record of its key is damaged.";
	if (span_eq(reason, SPAN("mismatch")))
		return "Its key was used for another request: drop it, or "
		       "have it produced again under another key.";
	if (op->verdict == VERDICT_GONE)
		return NULL;
	switch (op->state) {
	case STATE_UNKNOWN:
		return "Nobody knows whether it was executed: complete or "
		       "release its key first.";
	case STATE_PROCESSING:
		return "Its key is being executed now.";
	case STATE_COMPLETED:
		if (a->look.unreadable != NULL)
			return "The answer that is stored for its key cannot "
			       "be read.";
		return acknowledged
		    ? NULL
		    : "The upstream has refused it, and that is stored: "
		      "delete its key to have it executed again.";
	case STATE_FAILED:
	case STATE_RELEASED:
	case STATE_COUNT_:
		break;
	}
	return NULL;
}

enum after
admin_messages_looked(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct records_op *look = &a->look;
	if (look->op.op.error != 0)
		return admin_answer_store_failed(a, &look->op.op, in_doubt);
	/* Not every way to store an answer shows its status. */
	if (look->op.verdict == VERDICT_DONE &&
	    look->op.state == STATE_COMPLETED && look->status == 0 &&
	    !look->whole)
		return ask_record(a);
	const char *why = record_forbids(a);
	return why != NULL ? admin_answer_refused(a, "%s", why) : ask(a);
}

/* It is dropped when its gateway has told its broker. */
static enum after
wait_for_end(struct admin_request *a)
{
	op_start(&a->rest, AGAIN_MS, NULL);
	return admin_request_to(a, ADMIN_RESTED, WAIT);
}

enum after
admin_messages_asked(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct letter_op *asked = &a->letter;
	if (asked->op.op.error != 0)
		return admin_answer_store_failed(a, &asked->op.op, in_doubt);
	if (asked->op.verdict == VERDICT_GONE)
		return not_here(a);
	const char *why = why_not(a, asked->letter.state);
	if (asked->op.verdict != VERDICT_DONE)
		return admin_answer_refused(a, "%s",
		    why != NULL ? why
				: "A gateway is at it, for an earlier word.");
	if (a->endpoint->what == INQUIRY_REPLAY)
		return say_done(a, a->message);
	return wait_for_end(a);
}

enum after
admin_messages_rested(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct letter_name name = a->letter.name;
	letter_do(&a->letters, &a->letter, LETTER_FIND, &name, LETTER_DROP,
	    NULL);
	return admin_request_to(a, ADMIN_FOUND, WAIT);
}

enum after
admin_messages_found(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct letter_op *found = &a->letter;
	if (found->op.op.error == 0 && found->op.verdict == VERDICT_GONE)
		return say_done(a, a->message);
	if (clock_us() < a->until_us)
		return wait_for_end(a);
	return unsure(a,
	    SPAN("No gateway has dropped it yet: none that has its source is "
		 "at work, or its broker is away. It is dropped as soon as one "
		 "can. Look at the message again."));
}
