/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "store/record/answer_codec.h"

/*
 * Whatever bytes Redis returns, reading them ends with an error or with an
 * answer that a client could be given; and that answer, stored again in either
 * way, is the same answer.  Nothing that was refused keeps memory.
 */
enum { BUDGET = 1 << 20 };

static struct budget budget;
static ZSTD_CCtx *compress;
static ZSTD_DCtx *decompress;

static void
set_up(void)
{
	if (compress != NULL)
		return;
	atomic_init(&budget.used, 0);
	atomic_init(&budget.limit, BUDGET);
	compress = ZSTD_createCCtx();
	decompress = ZSTD_createDCtx();
}

static void
equal(const struct answer *a, const struct answer *b)
{
	must(a->status == b->status && a->not_kept == b->not_kept);
	must(a->head_length == b->head_length);
	must(span_eq(a->request_id, b->request_id));
	must(a->fields.count == b->fields.count);
	for (size_t i = 0; i < a->fields.count; i++) {
		must(span_eq(
		    a->fields.list[i].name, b->fields.list[i].name));
		must(span_eq(
		    a->fields.list[i].value, b->fields.list[i].value));
	}
	must(span_eq(body_span(&a->body), body_span(&b->body)));
}

/* Nothing in it can begin a line of its own. */
static void
can_be_given(const struct answer *answer)
{
	struct span breaks = span_of("\r\n", 3);

	must(answer->status >= 200 && answer->status <= 599);
	must(!fuzz_has(answer->request_id, breaks));
	for (size_t i = 0; i < answer->fields.count; i++) {
		must(answer->fields.list[i].name.len > 0);
		must(!fuzz_has(answer->fields.list[i].name, breaks));
		must(!fuzz_has(answer->fields.list[i].value, breaks));
	}
}

static void
store_again(const struct answer *answer, ZSTD_CCtx *zstd)
{
	struct answer *again = NULL;
	char *bytes, *twice;
	size_t len, twice_len;

	answer_codec_encode(answer, zstd, &bytes, &len);
	int error = answer_codec_decode(
	    span_of(bytes, len), decompress, NULL, &again);
	must(error == 0);
	equal(answer, again);
	answer_codec_encode(again, zstd, &twice, &twice_len);
	must(span_eq(span_of(bytes, len), span_of(twice, twice_len)));
	answer_unref(&again);
	free(bytes);
	free(twice);
}

static void
try_answer(struct span stored)
{
	struct answer *answer = NULL;
	int error = answer_codec_decode(stored, decompress, &budget, &answer);

	must(error == 0 || error == E_MALFORMED || error == E_NO_MEMORY);
	must((error == 0) == (answer != NULL));
	if (error == 0) {
		can_be_given(answer);
		store_again(answer, NULL);
		store_again(answer, compress);
		answer_unref(&answer);
	}
	must(atomic_load(&budget.used) == 0);
}

/* The input does not know our key: nothing forged opens. */
static void
try_sealed(const struct record *record)
{
	static const struct key_id name = {"a record's name"};
	static uint8_t bytes[CONF_ENCRYPTION_KEY_BYTES] = "a key";
	static char id[] = "2026";
	static struct conf_encryption_key key = {id, bytes};
	static const struct conf_store conf = {
	    .encryption_keys = &key, .n_encryption_keys = 1};
	const struct seal_about about = {.key_id = name,
	    .state = record->state,
	    .attempt = record->attempt,
	    .fingerprint = record->fingerprint};
	struct span named;
	char *plain = NULL;
	size_t len;

	int error = seal_open(&conf, &about, record->rest, &plain, &len);
	must(plain == NULL);
	if (!seal_key_of(record->rest, &named))
		must(error == E_MALFORMED);
	else if (seal_find_key(&conf, named) == NULL)
		must(error == E_NO_KEY);
	else
		must(error == E_SEALED || error == E_MALFORMED);
}

static bool
is_within(struct span part, struct span whole)
{
	return part.ptr >= whole.ptr &&
	    part.ptr + part.len <= whole.ptr + whole.len;
}

void
fuzz_record(struct span input)
{
	struct record record;

	set_up();
	try_answer(input);
	if (record_read(input, &record) != 0)
		return;
	must(record.attempt <= 999999 && record.tries <= 999999);
	must(record.created_ms >= 0 && record.changed_ms >= 0);
	must(record.lease_until_ms >= 0);
	must(record.owner.len == TOKEN_CHARS);
	must(record.fingerprint.len == TOKEN_CHARS);
	const struct span parts[] = {record.from.route, record.from.method,
	    record.from.path, record.from.instance, record.from.label,
	    record.from.request_id, record.from.history, record.rest};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		must(is_within(parts[i], input));
	for (size_t i = 0; i + 1 < sizeof parts / sizeof *parts; i++)
		must(!fuzz_has(parts[i], SPAN("\n")) &&
		    !fuzz_has(parts[i], SPAN("\t")));
	must(record.rest.ptr + record.rest.len == input.ptr + input.len);
	try_answer(record.rest);
	try_sealed(&record);
}
