/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/letter.h"
#include "messages/source/letter_view.h"
#include "messages/source/source_meter.h"

static enum message_state
state_of(const struct letter *letter)
{
	return span_eq(letter->reason,
		   span_str(source_meter_outcome(MESSAGE_BEHIND)))
	    ? MESSAGE_STATE_PARKED
	    : MESSAGE_STATE_DEAD;
}

bool
letter_view_is_parked(const struct broker_message *m)
{
	struct letter letter;
	letter_read(m, &letter);
	return state_of(&letter) == MESSAGE_STATE_PARKED;
}

static bool
belongs(const struct inquiry *inquiry, enum message_state state)
{
	if (inquiry->kind != INQUIRY_LETTERS)
		return true;
	return state == MESSAGE_STATE_PARKED ? inquiry->parked : inquiry->dead;
}

void
letter_view_add(struct inquiry *inquiry, const char *source,
    const struct broker_message *m)
{
	struct arena *arena = inquiry->arena;
	struct message_view **end = &inquiry->messages;
	struct letter letter;
	letter_read(m, &letter);
	if (!belongs(inquiry, state_of(&letter)))
		return;
	struct message_view *view = arena_alloc(arena, sizeof *view);
	*view = (struct message_view){
	    .id = inquiry_id(arena, span_str(source), m->position),
	    .source = arena_dup(arena, span_str(source)).ptr,
	    .position = arena_dup(arena, m->position),
	    .state = state_of(&letter),
	    .reason = arena_dup(arena, letter.reason).ptr,
	    .key_id = arena_dup(arena, letter.key_id).ptr,
	    .attempt = letter.attempt,
	    .first = arena_dup(arena, letter.first),
	    .detail = arena_dup(arena, letter.detail),
	    .label = arena_dup(arena, letter.label),
	    .status = letter.status,
	    .is_base64 = letter.is_base64,
	};
	if (inquiry->kind == INQUIRY_MESSAGE && letter.answer.ptr != NULL)
		view->answer = arena_dup(arena, letter.answer);
	while (*end != NULL)
		end = &(*end)->next;
	*end = view;
	inquiry->count++;
}
