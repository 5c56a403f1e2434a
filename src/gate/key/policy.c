/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/must.h"
#include "conf/show.h"
#include "conf/token/token_set.h"
#include "gate/key/policy.h"

/* The options that a client may know of, as the configuration has them. */
static const char *const shown[] = {"preset", "required", "derive_key",
    "key_format", "max_length", "min_length", "scope", "fingerprint.",
    "retention", "unknown_retention", "outcomes", "max_attempts", "in_flight",
    "wait_timeout", "max_request_body", "max_response_body", "replay_header",
    NULL};

/* A client may know these, too, where the route has an entity. */
static const char *const shown_of_entity[] = {
    "entity", "newer_only", "serialize", NULL};

static bool
is_in(const char *const *names, struct span path)
{
	for (; *names != NULL; names++) {
		struct span name = span_str(*names);
		bool within = name.ptr[name.len - 1] == '.';
		if (within ? span_starts(path, name) : span_eq(path, name))
			return true;
	}
	return false;
}

static void
put_member(json_t *object, const char *name, json_t *value)
{
	must(json_object_set_new(object, name, value) == 0);
}

static json_t *
texts(const struct strings *strings)
{
	json_t *list = json_array();
	for (size_t i = 0; i < strings->count; i++)
		must(json_array_append_new(
			 list, json_string(strings->list[i])) == 0);
	return list;
}

static void
put_shown(json_t *document, json_t *fingerprint, const struct option *option,
    const struct conf_idempotency *policy)
{
	const char *dot = strchr(option->path, '.');
	json_t *one, *value = show_option(option, policy);
	size_t i;
	if (value == NULL)
		return;
	/* The files of our keys are nobody's business. */
	if (!strcmp(option->path, "scope"))
		json_array_foreach(value, i, one)
		{
			json_object_del(one, "keys");
			json_object_del(one, "ca");
		}
	if (dot != NULL)
		put_member(fingerprint, dot + 1, value);
	else
		put_member(document, option->path, value);
}

int
policy_status(const struct conf_idempotency *policy, enum problem problem)
{
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++)
		if (policy->problems[i] != 0 &&
		    !strcmp(conf_route_problems[i],
			problem_lines[problem].type))
			return (int)policy->problems[i];
	return problem_lines[problem].status;
}

/* Finds all statuses of the problem's type: a number, or a list of several. */
static json_t *
statuses_of_type(
    const struct conf_idempotency *policy, enum problem problem)
{
	json_t *list = json_array();
	for (int status = 400; status < 600; status++)
		for (int i = 0; i < PROBLEM_COUNT_; i++)
			if (!strcmp(problem_lines[i].type,
				problem_lines[problem].type) &&
			    policy_status(policy, (enum problem)i) == status) {
				json_array_append_new(
				    list, json_integer(status));
				break;
			}
	if (json_array_size(list) != 1)
		return list;
	json_t *only = json_incref(json_array_get(list, 0));
	json_decref(list);
	return only;
}

/* Finds the statuses that the gateway itself may answer with. */
static json_t *
statuses_of(const struct conf_idempotency *policy)
{
	bool tokens = false, fetched = false;
	for (size_t i = 0; i < policy->scope.count; i++) {
		const char *keys = policy->scope.list[i].keys;
		tokens |= keys != NULL;
		fetched |= keys != NULL && token_set_is_url(keys);
	}
	const struct {
		enum problem problem;
		bool met;
	} problems[] = {
	    {PROBLEM_KEY_MISSING, policy->required},
	    {PROBLEM_KEY_INVALID, true},
	    {PROBLEM_SCOPE_MISSING,
		policy->scope.count > 0 && !policy->scope_missing_forward},
	    {PROBLEM_TOKEN_INVALID, tokens},
	    {PROBLEM_TOKEN_UNVERIFIED, fetched},
	    {PROBLEM_IN_FLIGHT, true},
	    {PROBLEM_KEY_REUSED, true},
	    {PROBLEM_UNKNOWN_HELD, true},
	    {PROBLEM_ATTEMPTS_EXHAUSTED, true},
	    {PROBLEM_RESPONSE_NOT_KEPT, true},
	    {PROBLEM_REQUEST_TOO_LARGE, true},
	    {PROBLEM_BAD_REQUEST, conf_has_entity(policy)},
	    {PROBLEM_STALE_VERSION, policy->newer_only.count > 0},
	    {PROBLEM_ENTITY_BUSY, policy->serialize},
	    {PROBLEM_UPSTREAM_UNREACHABLE, true},
	    {PROBLEM_STORE_UNAVAILABLE, true},
	    {PROBLEM_OVERLOADED, true},
	    {PROBLEM_DRAINING, true},
	};
	json_t *statuses = json_object();
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
		if (problems[i].met)
			put_member(statuses,
			    problem_lines[problems[i].problem].type,
			    statuses_of_type(policy, problems[i].problem));
	return statuses;
}

json_t *
policy_document(const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	json_t *document = json_object(), *fingerprint = json_object();
	if (route->methods.count > 0)
		put_member(document, "methods", texts(&route->methods));
	put_member(document, "path", json_string(route->path));
	put_member(document, "header", texts(&policy->headers));
	put_member(document, "fingerprint", fingerprint);
	for (size_t i = 0; i < n_options; i++) {
		struct span name = span_str(options[i].path);
		if (options[i].group == GROUP_IDEMPOTENCY &&
		    (is_in(shown, name) ||
			(conf_has_entity(policy) &&
			    is_in(shown_of_entity, name))))
			put_shown(document, fingerprint, &options[i], policy);
	}
	put_member(document, "retention_seconds",
	    json_integer(policy->retention_ms / 1000));
	put_member(document, "statuses", statuses_of(policy));
	if (route->status != NULL)
		put_member(document, "status_path",
		    json_string(route->status->path));
	return document;
}

enum problem
policy_not_kept(const struct conf_idempotency *policy, int status)
{
	if (status == 0)
		return PROBLEM_RESPONSE_NOT_SAID;
	return policy->max_response_body == 0 ? PROBLEM_RESPONSE_NEVER_KEPT
					      : PROBLEM_RESPONSE_NOT_KEPT;
}
