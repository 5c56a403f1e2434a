/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "messages/shared/letter_stored.h"
#include "store/record/seal.h"

#define ALONE "--------------------------------"

enum {
	STATUS_MAX = 999,
	REASON_MAX = 32, /* bytes */
	LEAST_BYTES = 3, /* of a part: "0:," */
	KEYS = 7,
};

/* --- what it is called --- */

struct letter_name
letter_stored_name(struct span position, const struct letters_lane *lane)
{
	struct letter_name name = {.in_order = lane != NULL};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, position);
	digest_end(&digest, name.id);
	memcpy(name.lane, lane != NULL ? lane->bytes : name.id, DIGEST_BYTES);
	return name;
}

bool
letter_stored_read_name(
    struct span id, struct span lane, struct letter_name *ret_name)
{
	if (!hex_decode(id, ret_name->id, DIGEST_BYTES))
		return false;
	ret_name->in_order = lane.len > 0 && !span_eq(lane, SPAN(ALONE));
	if (ret_name->in_order)
		return hex_decode(lane, ret_name->lane, DIGEST_BYTES);
	memcpy(ret_name->lane, ret_name->id, DIGEST_BYTES);
	return true;
}

/* --- as bytes: written --- */

/* The parts of a head, and of a body before its fields, in their order. */
enum { POSITION, REASON, KEY_ID, ROUTE, DETAIL, LABEL, STATUS, ATTEMPT, FIRST,
	HEAD_PARTS };
enum { IS_CUT, PAYLOAD, KEY, ENTITY, TYPE, PART, TIME, ANSWER, N_FIELDS,
	BODY_PARTS };

/* ptr NULL: there is none. */
static void
put_part(FILE *out, struct span part)
{
	if (part.ptr == NULL) {
		fputs("-,", out);
		return;
	}
	fprintf(out, "%zu:", part.len);
	fwrite(part.ptr, 1, part.len, out);
	fputc(',', out);
}

static struct span
or_empty(struct span part)
{
	return part.ptr != NULL ? part : SPAN("");
}

/* Below 0: there is none. */
static struct span
number(char digits[DIGITS_MAX], int64_t number)
{
	return number < 0 ? (struct span){NULL, 0}
			  : span_of(digits, digits_put(digits, number));
}

void
letter_stored_put(const struct letter *letter, bool body, char **ret_bytes,
    size_t *ret_len)
{
	char digits[5][DIGITS_MAX];
	const struct span heads[HEAD_PARTS] = {
	    [POSITION] = or_empty(letter->position),
	    [REASON] = letter->reason,
	    [KEY_ID] = or_empty(letter->key_id),
	    [ROUTE] = or_empty(letter->route),
	    [DETAIL] = or_empty(letter->detail),
	    [LABEL] = or_empty(letter->label),
	    [STATUS] = number(digits[0], letter->status),
	    [ATTEMPT] = number(digits[1], letter->attempt),
	    [FIRST] = number(digits[2], letter->first_ms),
	};
	const struct span bodies[BODY_PARTS] = {
	    [IS_CUT] = letter->is_cut ? SPAN("1") : SPAN("0"),
	    [PAYLOAD] = letter->has_payload ? or_empty(letter->payload)
					    : (struct span){NULL, 0},
	    [KEY] = letter->key,
	    [ENTITY] = letter->entity,
	    [TYPE] = letter->type,
	    [PART] = letter->part,
	    [TIME] = number(digits[3], letter->time_ms),
	    [ANSWER] = letter->answer,
	    [N_FIELDS] = number(digits[4], (int64_t)letter->fields.count),
	};
	FILE *out = open_memstream(ret_bytes, ret_len);
	must(out != NULL);
	fputs(body ? "b1\n" : "h1\n", out);
	for (size_t i = 0; i < (body ? BODY_PARTS : HEAD_PARTS); i++)
		put_part(out, body ? bodies[i] : heads[i]);
	for (size_t i = 0; body && i < letter->fields.count; i++) {
		put_part(out, or_empty(letter->fields.list[i].name));
		put_part(out, or_empty(letter->fields.list[i].value));
	}
	must(fclose(out) == 0);
}

/* --- as bytes: read --- */

static bool
take_part(struct span *left, struct span *ret_part)
{
	struct span digits;
	int64_t len;
	*ret_part = (struct span){NULL, 0};
	if (span_skip(left, SPAN("-,")))
		return true;
	if (!span_cut(left, ':', &digits) ||
	    !digits_read_exact(digits, INT64_MAX, &len) ||
	    (uint64_t)len >= left->len || left->ptr[len] != ',')
		return false;
	*ret_part = span_of(left->ptr, (size_t)len);
	*left = span_from(*left, (size_t)len + 1);
	return true;
}

static bool
take_parts(struct span *left, struct span version, size_t count,
    struct span *ret_parts)
{
	if (!span_skip(left, version))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!take_part(left, &ret_parts[i]))
			return false;
	return true;
}

bool
letter_stored_read_head(struct span bytes, struct letter *letter)
{
	struct span parts[HEAD_PARTS];
	int64_t status, attempt;
	uint8_t key_id[DIGEST_BYTES];
	if (!take_parts(&bytes, SPAN("h1\n"), HEAD_PARTS, parts) ||
	    !digits_read_exact(parts[STATUS], STATUS_MAX, &status) ||
	    !digits_read_exact(parts[ATTEMPT], UINT32_MAX, &attempt) ||
	    !digits_read_exact(parts[FIRST], INT64_MAX, &letter->first_ms) ||
	    (parts[KEY_ID].len > 0 &&
		!hex_decode(parts[KEY_ID], key_id, sizeof key_id)) ||
	    bytes.len > 0)
		return false;
	for (size_t i = 0; i < HEAD_PARTS; i++)
		if (parts[i].ptr == NULL)
			return false;
	struct span reason = parts[REASON];
	if (reason.len == 0 || reason.len > REASON_MAX)
		return false;
	for (size_t i = 0; i < reason.len; i++)
		if ((reason.ptr[i] < 'a' || reason.ptr[i] > 'z') &&
		    reason.ptr[i] != '-')
			return false;
	letter->position = parts[POSITION];
	letter->reason = reason;
	letter->key_id = parts[KEY_ID];
	letter->route = parts[ROUTE];
	letter->detail = parts[DETAIL];
	letter->label = parts[LABEL];
	letter->status = (int)status;
	letter->attempt = (uint32_t)attempt;
	return true;
}

bool
letter_stored_read_body(
    struct span bytes, struct arena *arena, struct letter *letter)
{
	struct span parts[BODY_PARTS];
	int64_t is_cut, count, time_ms = -1;
	if (!take_parts(&bytes, SPAN("b1\n"), BODY_PARTS, parts) ||
	    !digits_read_exact(parts[IS_CUT], 1, &is_cut) ||
	    (parts[TIME].ptr != NULL &&
		!digits_read_exact(parts[TIME], INT64_MAX, &time_ms)) ||
	    !digits_read_exact(parts[N_FIELDS], INT64_MAX, &count) ||
	    (uint64_t)count > bytes.len / (2 * LEAST_BYTES))
		return false;
	struct field *list =
	    arena_alloc(arena, ((size_t)count + 1) * sizeof *list);
	for (int64_t i = 0; i < count; i++)
		if (!take_part(&bytes, &list[i].name) ||
		    !take_part(&bytes, &list[i].value) ||
		    list[i].name.ptr == NULL || list[i].value.ptr == NULL)
			return false;
	letter->is_cut = is_cut == 1;
	letter->payload = parts[PAYLOAD];
	letter->has_payload = letter->payload.ptr != NULL;
	letter->key = parts[KEY];
	letter->entity = parts[ENTITY];
	letter->type = parts[TYPE];
	letter->part = parts[PART];
	letter->time_ms = time_ms;
	letter->answer = parts[ANSWER];
	letter->fields = (struct fields){list, (size_t)count};
	return bytes.len == 0;
}

/* --- how Redis is asked --- */

struct store_call *
letter_stored_call(
    const struct shared *of, unsigned shard, enum script script, size_t n_argv)
{
	static const char *const words[KEYS][2] = {{"letter", ":"},
	    {"lane", ":"}, {"lanes", ""}, {"letters", ""}, {"behind", ""},
	    {"written", ""}, {"begun", ""}};
	struct shared shared = *of;
	shared.shard = shard;
	struct store_call *call =
	    call_new(of->store, shard, script, 1 + KEYS + n_argv);
	resp_number(&call->args, KEYS);
	call->item.keys_from = call->args.len;
	for (size_t i = 0; i < KEYS; i++) {
		shared_arg_key(&shared, call, words[i][0], words[i][1]);
		if (i == 1) /* as lua/seeks.lua has them */
			call->item.keys_to = call->args.len;
	}
	return call;
}

/* So that no letter opens as another's. */
static struct seal_about
seal_of(const struct shared *shared, const uint8_t id[DIGEST_BYTES])
{
	struct seal_about about = {.kind = SEAL_LETTER};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, span_str(shared->name));
	digest_part(&digest, span_of(id, DIGEST_BYTES));
	digest_end(&digest, about.key_id.bytes);
	return about;
}

void
letter_stored_arg(struct store_call *call, const struct shared *shared,
    const struct letter *letter, bool body)
{
	const struct conf_store *conf = &shared->store->conf->store;
	char *bytes, *sealed;
	size_t len;
	letter_stored_put(letter, body, &bytes, &len);
	if (conf->n_encryption_keys > 0) {
		const struct seal_about about =
		    seal_of(shared, letter->name.id);
		seal_close(conf, &about, span_of(bytes, len), &sealed, &len);
		free(bytes);
		bytes = sealed;
	}
	resp_arg(&call->args, span_of(bytes, len));
	free(bytes);
}

/* --- what Redis says --- */

/*
 * The text in the arena, opened where it is sealed; empty where it does not
 * open.  False: there is no memory for it.
 */
static bool
open_text(const struct shared *shared, struct arena *arena,
    const uint8_t id[DIGEST_BYTES], struct span stored, struct span *ret_text)
{
	const struct conf_store *conf = &shared->store->conf->store;
	const struct seal_about about = seal_of(shared, id);
	struct span key;
	char *plain = NULL;
	size_t len;
	*ret_text = SPAN("");
	if (seal_key_of(stored, &key)) {
		if (seal_open(conf, &about, stored, &plain, &len) != 0)
			return true;
		stored = span_of(plain, len);
	} else if (conf->encryption_strict) {
		return true;
	}
	char *copy = arena_dup_large(arena, stored);
	*ret_text = span_of(copy, stored.len);
	free(plain);
	return copy != NULL;
}

int
letter_stored_read(const struct shared *shared, const struct call_reply *reply,
    size_t at, size_t end, struct arena *arena, struct letter *letter,
    bool *ret_shut)
{
	static const char *const states[] = {[LETTER_WRITTEN] = "written",
	    [LETTER_CONFIRMED] = "confirmed",
	    [LETTER_BEGUN] = "begun"};
	struct span text = call_reply_text(reply, at + LETTER_STATE);
	*ret_shut = false;
	*letter = (struct letter){.position = SPAN(""),
	    .key_id = SPAN(""),
	    .route = SPAN(""),
	    .detail = SPAN(""),
	    .label = SPAN(""),
	    .time_ms = -1};
	while (letter->state <= LETTER_BEGUN &&
	    !span_eq(text, span_str(states[letter->state])))
		letter->state++;
	letter->put_ms = shared_number(reply, at + LETTER_PUT);
	letter->parked = call_reply_text(reply, at + LETTER_PARKED).len > 0;
	letter->reason =
	    arena_dup(arena, call_reply_text(reply, at + LETTER_REASON));
	if (letter->state > LETTER_BEGUN || letter->put_ms < 0 ||
	    !letter_stored_read_name(call_reply_text(reply, at + LETTER_ID),
		call_reply_text(reply, at + LETTER_LANE), &letter->name))
		return E_MALFORMED;
	for (size_t i = LETTER_HEAD; at + i < end; i++) {
		if (!open_text(shared, arena, letter->name.id,
			call_reply_text(reply, at + i), &text))
			return E_NO_MEMORY;
		/* Of what does not open only what is beside it is known. */
		struct letter read = *letter;
		bool ok = i == LETTER_HEAD
		    ? letter_stored_read_head(text, &read)
		    : letter_stored_read_body(text, arena, &read);
		struct letter_name name =
		    letter_stored_name(read.position, NULL);
		if (ok && !memcmp(name.id, letter->name.id, DIGEST_BYTES))
			*letter = read;
		else
			*ret_shut = true;
	}
	return 0;
}
