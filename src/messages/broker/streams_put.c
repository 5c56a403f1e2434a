/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"
#include "store/redis/slots.h"

/* The commands that acknowledge, with what is put in the same step. */

static const char *
target_of(const struct streams *streams, const struct broker_put *put)
{
	return put->place == BROKER_RESULTS ? streams->source->results
					    : streams->source->dead_letters;
}

static void
put_script(const struct streams *streams, bool whole, struct resp *command)
{
	const struct span parts[] = {INVARIANT(put_while_pending)
		? span_str(streams_script_pending)
		: SPAN(""), span_str(streams_script_put)};
	resp_arg(command, whole ? SPAN("EVAL") : SPAN("EVALSHA"));
	if (whole)
		resp_joined(command, parts, 2);
	else
		resp_arg(command, span_str(streams->put_sha));
}

static void
put_fields(const struct broker_put *put, struct resp *command)
{
	for (size_t i = 0; i < put->fields.count; i++) {
		resp_arg(command, put->fields.list[i].name);
		resp_arg(command, put->fields.list[i].value);
	}
	if (put->has_body) {
		resp_arg(command, SPAN("body"));
		resp_arg(command, put->body);
	}
}

/* How many of the values the entry's own take the place of. */
static void
put_kept(const struct broker_put *put, struct resp *command)
{
	if (put->whole)
		resp_number(command, 2 * (int64_t)put->n_kept);
	else
		resp_arg(command, SPAN(""));
}

static size_t
count_values(const struct broker_put *put)
{
	return 2 * (put->fields.count + put->has_body);
}

static void
make_put(const struct streams *streams, const struct broker_finish *finish,
    bool whole, int64_t delivered, struct resp *ret_command)
{
	const struct broker_put *put = finish->put;
	resp_begin(ret_command, 10 + count_values(put));
	put_script(streams, whole, ret_command);
	resp_arg(ret_command, SPAN("2"));
	resp_arg(ret_command, streams->key);
	resp_arg(ret_command, span_str(target_of(streams, put)));
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, span_str(streams->instance));
	resp_arg(ret_command, finish->position);
	if (delivered > 0)
		resp_number(ret_command, delivered);
	else
		resp_arg(ret_command, SPAN(""));
	put_kept(put, ret_command);
	put_fields(put, ret_command);
}

static void
make_ack(const struct streams *streams, const struct broker_finish *finish,
    struct resp *ret_command)
{
	resp_begin(ret_command, 4);
	resp_arg(ret_command, SPAN("XACK"));
	resp_arg(ret_command, streams->key);
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, finish->position);
}

bool
streams_put_is(const struct broker_finish *finish)
{
	return finish->put != NULL &&
	    finish->put->place != BROKER_NOWHERE;
}

bool
streams_put_is_letter(const struct broker_finish *finish)
{
	return finish->letter.len > 0;
}

/* What is to become of a dead letter. */
static void
make_letter(const struct streams *streams, const struct broker_finish *finish,
    struct resp *ret_command)
{
	const struct broker_put *put =
	    streams_put_is(finish) ? finish->put : NULL;
	struct span dead = span_str(streams->source->dead_letters);
	resp_begin(ret_command, 10 + (put != NULL ? count_values(put) : 0));
	resp_arg(ret_command, SPAN("EVAL"));
	resp_arg(ret_command, span_str(streams_script_letter));
	resp_arg(ret_command, SPAN("2"));
	resp_arg(ret_command, dead);
	resp_arg(ret_command,
	    put != NULL ? span_str(target_of(streams, put)) : dead);
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, span_str(streams->instance));
	resp_arg(ret_command, finish->letter);
	resp_arg(ret_command, SPAN(""));
	if (put == NULL) {
		resp_arg(ret_command, SPAN(""));
		return;
	}
	put_kept(put, ret_command);
	put_fields(put, ret_command);
}

/* The slot of a key is that of what stands between its first braces. */
static struct span
tag_of(struct span key)
{
	const char *open = memchr(key.ptr, '{', key.len);
	if (open == NULL)
		return key;
	struct span rest =
	    span_from(key, (size_t)(open + 1 - key.ptr));
	const char *close = memchr(rest.ptr, '}', rest.len);
	return close == NULL || close == rest.ptr
	    ? key
	    : span_of(rest.ptr, (size_t)(close - rest.ptr));
}

const char *
streams_put_impossible(
    const struct streams *streams, const struct broker_finish *finish)
{
	if (streams_put_is_letter(finish) &&
	    streams->source->dead_letters == NULL)
		return "no stream is configured for dead letters";
	if (!streams_put_is(finish))
		return NULL;
	const char *target = target_of(streams, finish->put);
	if (target == NULL)
		return "no stream is configured for it";
	if (streams->redis->cluster.count > 0 &&
	    slots_of_tag(tag_of(span_str(target))) !=
		slots_of_tag(tag_of(streams->key)))
		return "its stream is in another slot of the cluster";
	return NULL;
}

void
streams_put_command(const struct streams *streams,
    const struct broker_finish *finish, bool whole, int64_t delivered,
    struct resp *ret_command)
{
	if (streams_put_is_letter(finish))
		make_letter(streams, finish, ret_command);
	else if (streams_put_is(finish))
		make_put(streams, finish, whole, delivered, ret_command);
	else
		make_ack(streams, finish, ret_command);
}
