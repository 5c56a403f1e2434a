/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/postgres_private.h"

/*
 * Which rows are asked for.  Ids are given before their rows are committed, so
 * there is no place before which nothing comes any more; and rows that are
 * finished stay in the index while anybody has an old snapshot, so that to
 * begin at the start each time becomes slow.  Hence three kinds of takes:
 *
 * front   behind the furthest row: new ones.
 * window  behind the floor, which is where the furthest row was some seconds
 *         ago: new ones, and those that were committed a little late.  What is
 *         in hand and may be there is left out by a list.  Ten times a second.
 * sweep   all rows, page by page, without those in hand: whatever was committed
 *         later still.  Rarely; and when parts are new, or rows were given
 *         back.  Where new rows may be anywhere (ids by chance, no order), all
 *         takes are sweeps.
 *
 * The list has only rows in hand that were taken since the floor was where it
 * is now: those of before are not behind it.
 *
 * Where the source has an order, a take that brings a row brings all that are
 * there and stand before it, or the row would be executed before them: there
 * are no takes from the front, a sweep begins at the start with each take, and
 * the floor moves when the transactions have ended that were under way when
 * the furthest row was where the floor will be.
 */
enum {
	WINDOW_EVERY_MS = 100,
	FLOOR_MOVES_MS = 2000,
	SWEEP_EVERY_MS = 10000,
	SWEEP_SHARE = 20, /* a sweep may take a 20th of the time */
	ONLY_SHARE = 4,   /* where all takes are sweeps: a 4th */
	LIMIT_MOST = 1000,
	VALUES = 7,
};

static const char snapshot_sql[] =
    "SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text "
    "FROM pg_current_snapshot() AS s";

static bool
keeps_order(const struct postgres_reader *reader)
{
	return reader->source->order_by != SOURCE_ORDER_NONE;
}

/* --- places --- */

static void
place_drop(struct postgres_place *place)
{
	free(place->id);
	free(place->order);
	*place = (struct postgres_place){NULL, NULL};
}

static void
place_copy(struct postgres_place *to, const struct postgres_place *from)
{
	place_drop(to);
	to->id = mem_text(from->id);
	to->order = mem_text(from->order);
}

static void
place_at(struct postgres_place *place, const PGresult *result, int row)
{
	place_drop(place);
	place->id = mem_str(postgres_pipe_value(result, row, COLUMN_ID));
	place->order = mem_str(postgres_pipe_value(result, row, COLUMN_ORDER));
}

static struct span
text_or_null(const char *text)
{
	return text != NULL ? span_str(text) : POSTGRES_NULL;
}

/* --- what is left out --- */

struct sql_array {
	char *text;
	size_t len, size;
};

static void
append(struct sql_array *list, char c)
{
	if (list->len == list->size)
		list->text = mem_grow(
		    list->text, list->size = 2 * list->size + 256);
	list->text[list->len++] = c;
}

/* An element of an array, as SQL writes it. */
static void
append_element(struct sql_array *list, struct span text)
{
	append(list, list->len > 0 ? ',' : '{');
	append(list, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			append(list, '\\');
		append(list, text.ptr[i]);
	}
	append(list, '"');
}

static struct sql_array
list_close(struct sql_array list)
{
	if (list.len == 0)
		append(&list, '{');
	append(&list, '}');
	return list;
}

/* Taken since then; the newest are last. */
static struct sql_array
in_hand_since(const struct postgres_hand *hand, uint64_t take)
{
	struct sql_array list = {0};
	const struct postgres_row *row = hand->newest;
	for (; row != NULL; row = row->before)
		if (row->disowned)
			continue;
		else if (row->take > take)
			append_element(&list, row->position);
		else if (hand->count_no_order == 0)
			break;
		else if (row->no_order)
			append_element(&list, row->position);
	return list_close(list);
}

/* Taken until then: a sweep that has begun has passed those it took itself. */
static struct sql_array
in_hand_until(const struct postgres_hand *hand, uint64_t take)
{
	struct sql_array list = {0};
	const struct postgres_row *row = hand->oldest;
	for (; row != NULL; row = row->after)
		if (row->disowned)
			continue;
		else if (row->take <= take || row->no_order)
			append_element(&list, row->position);
		else if (hand->count_no_order == 0)
			break;
	return list_close(list);
}

/* --- asking --- */

static void
begin_sweep(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	t->sweeping = true;
	t->sweep_wanted = false;
	t->sweep_take = t->number;
	t->sweep_began_ms = loop_now_ms(reader->loop);
	place_drop(&t->sweep);
}

static bool
sweep_is_due(const struct postgres_reader *reader)
{
	const struct postgres_take *t = &reader->take;
	return t->sweep_wanted || !reader->sql.ordered ||
	    (t->frontier.id != NULL &&
		loop_now_ms(reader->loop) >= t->sweep_next_ms);
}

static enum postgres_pass
choose_pass(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->loop);
	if (t->sweep_wanted || (!t->sweeping && sweep_is_due(reader)))
		begin_sweep(reader);
	if (t->sweeping)
		return PASS_SWEEP;
	if (now_ms - t->window_ms < WINDOW_EVERY_MS &&
	    t->frontier.id != NULL && !keeps_order(reader))
		return PASS_FRONT;
	t->window_ms = now_ms;
	return PASS_WINDOW;
}

/* Behind which place; its id is NULL: from the start. */
static const struct postgres_place *
place_of(const struct postgres_take *t)
{
	return t->pass == PASS_SWEEP ? &t->sweep :
	    t->pass == PASS_WINDOW   ? &t->floor :
				       &t->frontier;
}

static struct sql_array
left_out(const struct postgres_reader *reader)
{
	const struct postgres_take *t = &reader->take;
	if (t->pass == PASS_SWEEP)
		return in_hand_until(&reader->hand,
		    t->sweep.id != NULL ? t->sweep_take : UINT64_MAX);
	return in_hand_since(&reader->hand,
	    t->pass == PASS_FRONT  ? UINT64_MAX :
		t->floor.id != NULL ? t->floor_take :
				      0);
}

static void take_row_results(struct postgres_batch *batch, unsigned statement,
    const PGresult *result);
static void take_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble);

static void
run_take(struct postgres_reader *reader, const struct span *values,
    bool from_start)
{
	struct postgres_take *t = &reader->take;
	bool pair = reader->sql.pair;
	t->batch = (struct postgres_batch){
	    .result = take_row_results, .end = take_ended};
	postgres_pipe_begin(reader->pipe, &t->batch);
	if (keeps_order(reader))
		postgres_pipe_query(reader->pipe, snapshot_sql, NULL, 0);
	if (from_start)
		postgres_pipe_run(
		    reader->pipe, "take_start", values, pair ? 5 : 4);
	else
		postgres_pipe_run(
		    reader->pipe, "take_above", values, pair ? 7 : 5);
	postgres_pipe_end(reader->pipe);
}

static void
ask_rows(struct postgres_reader *reader, struct arena *arena, struct span parts)
{
	struct postgres_take *t = &reader->take;
	t->wake = false;
	t->pass = choose_pass(reader);
	t->number++;
	t->limit = reader->credit < LIMIT_MOST ? reader->credit : LIMIT_MOST;
	t->outstanding = true;
	t->came_to_end = t->last_ahead = t->any_id = false;
	const struct postgres_place *above = place_of(t);
	struct sql_array without = left_out(reader);
	struct span frontier_id = text_or_null(t->frontier.id);
	struct span frontier_order = text_or_null(t->frontier.order);
	struct span values[VALUES] = {
	    arena_printf(arena, "%u", t->limit),
	    span_of(without.text, without.len), parts, frontier_id,
	    text_or_null(above->id), frontier_order,
	    text_or_null(above->order)};
	if (above->id == NULL)
		values[4] = frontier_order;
	run_take(reader, values, above->id == NULL);
	free(without.text);
}

/* Where all takes are sweeps, a long one is not begun again at once. */
static bool
must_rest(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	if (reader->sql.ordered || t->sweeping || t->sweep_wanted ||
	    loop_now_ms(reader->loop) >= t->sweep_next_ms)
		return false;
	timer_set_at(&t->poll, t->sweep_next_ms);
	return true;
}

void
postgres_take_go_on(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	if (!reader->ready || t->outstanding || reader->credit == 0 ||
	    !(t->wake || t->more || t->sweep_wanted) || must_rest(reader))
		return;
	struct arena *arena = arena_new();
	struct span parts;
	if (postgres_parts_usable(reader, arena, &parts) > 0)
		ask_rows(reader, arena, parts);
	arena_free(&arena);
}

/* --- what came --- */

static bool
says_true(const PGresult *result, int row, enum postgres_column column)
{
	return span_eq(postgres_pipe_value(result, row, (int)column),
	    SPAN("true"));
}

static void
move_places(struct postgres_reader *reader, const PGresult *result, int row)
{
	struct postgres_take *t = &reader->take;
	bool has_order =
	    postgres_pipe_value(result, row, COLUMN_ORDER).ptr != NULL;
	if (postgres_pipe_value(result, row, COLUMN_ID).ptr == NULL)
		return;
	t->any_id = true;
	t->last_ahead = says_true(result, row, COLUMN_AHEAD);
	if (t->last_ahead)
		place_at(&t->frontier, result, row);
	if (t->pass == PASS_SWEEP && has_order && !keeps_order(reader))
		place_at(&t->sweep, result, row);
}

static void
hand_rows_over(struct postgres_reader *reader, const PGresult *result, int row)
{
	struct postgres_row kept;
	struct broker_message *message = postgres_message_read(
	    result, row, reader->most_bytes, &kept);
	if (message == NULL) {
		postgres_note(reader, "a row is left where it is, because its "
				      "id is longer than 4096 bytes");
		return;
	}
	if (postgres_hand_find(&reader->hand, message->position) != NULL) {
		broker_message_free(&message);
		return;
	}
	kept.take = reader->take.number;
	kept.session = reader->session;
	postgres_hand_add(&reader->hand, &kept);
	reader->credit--;
	reader->events.took(reader->events.arg, message);
}

/*
 * Before the take's own: what is over now, it sees.  What was under way at the
 * take before it, which put the mark, has a number below xmax.
 */
static void
note_snapshot(struct postgres_take *t, const PGresult *result)
{
	t->xmin = postgres_pipe_number(result, 0, 0);
	if (t->mark_xmax == 0)
		t->mark_xmax = postgres_pipe_number(result, 0, 1);
}

/* Rows beyond the credit, which may have shrunk, are for the next take. */
static void
take_row_results(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_reader *reader =
	    CONTAINER_OF(batch, struct postgres_reader, take.batch);
	struct postgres_take *t = &reader->take;
	if (keeps_order(reader) && statement == 0) {
		note_snapshot(t, result);
		return;
	}
	int rows = PQntuples(result), row = 0;
	int64_t found =
	    rows > 0 ? postgres_pipe_number(result, 0, COLUMN_COUNT) : 0;
	uint64_t number = t->number;
	for (; row < rows && reader->credit > 0; row++) {
		move_places(reader, result, row);
		hand_rows_over(reader, result, row);
		if (reader->closed || t->number != number ||
		    reader->pipe == NULL)
			return;
	}
	t->came_to_end = row == rows &&
	    (!t->any_id || (rows == found && rows < (int)t->limit));
}

/* All up to the furthest row has been looked at. */
static bool
looked_at_all(const struct postgres_take *t)
{
	return t->came_to_end || t->last_ahead;
}

static void
end_sweep(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->loop);
	int64_t took_ms = now_ms - t->sweep_began_ms;
	t->sweeping = false;
	place_drop(&t->sweep);
	if (!reader->sql.ordered)
		t->sweep_next_ms = now_ms + took_ms * ONLY_SHARE;
	else if (took_ms * SWEEP_SHARE > SWEEP_EVERY_MS)
		t->sweep_next_ms = now_ms + took_ms * SWEEP_SHARE;
	else
		t->sweep_next_ms = now_ms + SWEEP_EVERY_MS;
}

/* Only behind what a take from the old floor on has looked at. */
static void
move_floor(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	int64_t now_ms = loop_now_ms(reader->loop);
	if (now_ms - t->mark_ms < FLOOR_MOVES_MS ||
	    (keeps_order(reader) && t->xmin < t->mark_xmax))
		return;
	t->mark_xmax = 0;
	place_copy(&t->floor, &t->mark);
	t->floor_take = t->mark_take;
	place_copy(&t->mark, &t->frontier);
	t->mark_take = t->number;
	t->mark_ms = now_ms;
}

static void
take_ended(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader =
	    CONTAINER_OF(batch, struct postgres_reader, take.batch);
	struct postgres_take *t = &reader->take;
	t->outstanding = false;
	if (trouble != NULL) {
		postgres_trouble(reader, trouble);
		return;
	}
	t->more = !t->came_to_end;
	if (t->pass == PASS_SWEEP &&
	    (t->came_to_end || (t->last_ahead && reader->sql.ordered)))
		end_sweep(reader);
	else if (t->pass == PASS_WINDOW && looked_at_all(t))
		move_floor(reader);
	if (!timer_is_set(&t->poll))
		timer_set(&t->poll, reader->source->poll_ms);
	postgres_pump(reader);
}

void
postgres_take_wake(struct postgres_reader *reader)
{
	reader->take.wake = true;
	postgres_pump(reader);
}

static void
poll_again(void *arg)
{
	struct postgres_reader *reader = arg;
	timer_set(&reader->take.poll, reader->source->poll_ms);
	postgres_take_wake(reader);
}

/* A sweep that is under way begins anew: it may have passed the rows. */
void
postgres_take_from_start(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	t->sweep_wanted = true;
	if (t->frontier.id == NULL)
		t->wake = true;
	postgres_pump(reader);
}

void
postgres_take_init(struct postgres_reader *reader)
{
	timer_init(&reader->take.poll, reader->loop, poll_again, reader);
}

void
postgres_take_down(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	t->outstanding = t->sweeping = t->more = false;
	/* Another server may give ids again that were before these. */
	place_drop(&t->frontier);
	place_drop(&t->floor);
	place_drop(&t->mark);
	t->mark_xmax = 0;
	t->wake = true;
	timer_clear(&t->poll);
}

void
postgres_take_free(struct postgres_reader *reader)
{
	struct postgres_take *t = &reader->take;
	place_drop(&t->frontier);
	place_drop(&t->floor);
	place_drop(&t->mark);
	place_drop(&t->sweep);
}
