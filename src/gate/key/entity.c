/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/json.h"
#include "gate/key/entity.h"
#include "gate/key/key.h"
#include "http/front/route.h"
#include "store/record/version.h"

/* The bytes of a name that its shard follows from (record/redis_keys.c). */
enum { SHARD_BYTES = 4 };

static void
begin_digest(const struct conf *conf, const struct conf_idempotency *policy,
    const struct span *scope, struct digest *digest)
{
	digest_begin(digest, SPAN("entity"), span_str(conf->store.secret));
	digest_part(digest, span_str(policy->namespace.text));
	key_id_scope(digest, &policy->scope, scope);
}

void
entity_name_by_path(const struct conf *conf,
    const struct conf_idempotency *policy, const struct span *scope,
    struct span value, uint8_t ret_name[DIGEST_BYTES])
{
	struct digest digest;
	begin_digest(conf, policy, scope, &digest);
	digest_part(&digest, SPAN("path"));
	digest_part(&digest, span_str(policy->entity.path));
	digest_part(&digest, value);
	digest_end(&digest, ret_name);
}

static struct span
find_name(const struct conf *conf, const struct variables *request,
    struct arena *scratch, const struct span *scope,
    struct store_entity *entity)
{
	const struct conf_idempotency *policy = request->route->idempotency;
	const char *path = policy->entity.path;
	struct digest digest;
	struct span value = SPAN("");
	if (path != NULL) {
		if (!route_variable(request->arena, request->route,
			request->target, span_str(path), &value))
			return SPAN("The path does not say what is to be "
				    "changed.");
		entity_name_by_path(conf, policy, scope, value, entity->name);
		return SPAN("");
	}
	begin_digest(conf, policy, scope, &digest);
	if (!key_digest_members(
		scratch, &policy->entity.pointers, request->body, &digest)) {
		value = key_members_wrong(request->arena,
		    "Nothing says what is to be changed",
		    &policy->entity.pointers, request->body);
		/* Never empty: no request goes on without its entity. */
		return value.len > 0
		    ? value
		    : SPAN("Nothing says what is to be changed.");
	}
	digest_end(&digest, entity->name);
	return SPAN("");
}

struct span
entity_find(const struct conf *conf, const struct variables *request,
    const struct span *scope, struct store_entity *ret_entity)
{
	const struct conf_idempotency *policy = request->route->idempotency;
	const struct json_pointer *pointer = &policy->newer_only;
	struct store_entity entity = {.serialize = policy->serialize};
	/* A body that is read as JSON takes many times its size. */
	struct arena *scratch = arena_new();
	struct span wrong = find_name(conf, request, scratch, scope, &entity);
	if (wrong.len == 0 && pointer->count > 0) {
		const struct json *json = content_json(scratch, request->body);
		const struct json *value = json ? json_at(json, pointer) : NULL;
		if (value == NULL ||
		    !version_read(request->arena, value, &entity.version,
			&entity.shown)) {
			char *name = json_pointer_text(pointer);
			wrong = arena_printf(request->arena,
			    "Nothing says which version this is, because %s is "
			    "missing in this request, or is neither a number "
			    "nor an RFC 3339 time.", name);
			free(name);
		}
	}
	arena_free(&scratch);
	*ret_entity = entity;
	return wrong;
}

void
entity_share_shard(const struct store_entity *entity, struct key_id *key_id)
{
	memcpy(key_id->bytes, entity->name, SHARD_BYTES);
}
