/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/digits.h"
#include "base/mem.h"
#include "conf/kinds.h"
#include "conf/load/asks_private.h"
#include "conf/load/path_private.h"

/* A route whose policy is looked at. */
struct asker {
	struct loader *l;
	const struct json_place *at; /* of its idempotency */
	const struct conf_route *route;
};

#define COMPLAIN(a, ...) \
	complaints_at_member((a)->l, (a)->at, "on_unknown", __VA_ARGS__)

/* --- what a question is made of --- */

static size_t
number_of(const struct template_piece *piece)
{
	int64_t number = 0;
	must(digits_read(piece->text, 999, &number));
	return (size_t)number;
}

/* A header may be all that lets a client in, and would stand in the record. */
static void
check_scope_named(
    const struct asker *a, const struct template_piece *piece)
{
	const struct conf_scopes *scope = &a->route->idempotency->scope;
	size_t number = number_of(piece);
	if (number >= scope->count)
		COMPLAIN(a, "the scope has no entry %zu, only %zu of them, "
		    "from 0", number, scope->count);
	else if (scope->list[number].kind == SCOPE_JWT &&
	    scope->list[number].issuer == NULL)
		COMPLAIN(a, "{scope:%zu} is the claim \"%s\", which two "
		    "issuers may give to two tenants: \"issuer\" is needed "
		    "there", number, scope->list[number].jwt);
	else if (scope->list[number].kind == SCOPE_HEADER)
		COMPLAIN(a, "{scope:%zu} is the header \"%s\", which may be a "
		    "token: only a user of \"basic\", a claim of \"jwt\", a "
		    "\"certificate\" and a \"path\" can be asked with",
		    number, scope->list[number].header);
}

static void
check_pieces(const struct asker *a, const struct template *t)
{
	const struct conf_idempotency *policy = a->route->idempotency;
	bool derives =
	    policy->derive_from_body || policy->derive_from.count > 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct template_piece *piece = &t->pieces[i];
		if (piece->kind == TEMPLATE_PATH &&
		    conf_variable(a->route, piece->text) < 0) {
			char *words = path_no_variable(a->route, piece->text);
			COMPLAIN(a, "%s", words);
			free(words);
		} else if (piece->kind == TEMPLATE_KEY && derives &&
		    !policy->send_derived) {
			/* It cannot be asked for a key that it never saw. */
			COMPLAIN(a, "the upstream never sees a derived key: "
			    "\"send_derived\" is needed, or another variable "
			    "than {key}");
		} else if (piece->kind == TEMPLATE_SCOPE) {
			check_scope_named(a, piece);
		}
	}
}

/* --- a question without a client --- */

/*
 * Whether what is asked with has the entry of the scope of that index, or that
 * variable of the path, by itself or as an entry of the scope.
 */
static bool
names(const struct asker *a, size_t index, struct span variable)
{
	const struct conf_idempotency *policy = a->route->idempotency;
	const struct conf_reconcile *asked = &policy->reconcile;
	for (size_t i = 0; i <= asked->n_headers; i++) {
		const struct template *t = i < asked->n_headers
		    ? &asked->headers[i].value
		    : &asked->path;
		for (size_t k = 0; k < t->count; k++) {
			struct span text = t->pieces[k].text;
			size_t number = SIZE_MAX;
			if (t->pieces[k].kind == TEMPLATE_SCOPE)
				number = number_of(&t->pieces[k]);
			else if (t->pieces[k].kind != TEMPLATE_PATH)
				continue;
			if (number < policy->scope.count)
				text = span_str(
				    policy->scope.list[number].path);
			if ((number < SIZE_MAX && number == index) ||
			    (text.len > 0 && span_eq(text, variable)))
				return true;
		}
	}
	return false;
}

/*
 * Else the API could answer of another tenant's payment with the same key.  By
 * a client's own header it knows the tenant.
 */
static void
check_tenant(const struct asker *a, const struct conf_scope *scope)
{
	bool brings = a->route->idempotency->reconcile.n_headers == 0 &&
	    scopes_header(scope) != NULL;
	if (brings || names(a, scope->index, span_str(scope->path)))
		return;
	char *name = scopes_name(scope);
	if (scope->kind == SCOPE_HEADER)
		COMPLAIN(a, "with \"headers\" the question must name the "
		    "tenant, and \"%s\" of the scope may be a token: let the "
		    "scope name what stays, or say \"keys_unique\": true, if "
		    "no two tenants have the same key there", name);
	else
		COMPLAIN(a, "the question must name the tenant: %s of the "
		    "scope must stand in \"path\" or \"headers\" as "
		    "{scope:%zu}; or say \"keys_unique\": true, if no two "
		    "tenants have the same key there", name, scope->index);
	free(name);
}

/* The same of what keys belong to besides: merchants of one scope for all. */
static void
check_namespace(const struct asker *a)
{
	const struct template *namespace = &a->route->idempotency->namespace;
	for (size_t i = 0; i < namespace->count; i++) {
		struct span name = namespace->pieces[i].text;
		if (namespace->pieces[i].kind == TEMPLATE_PATH &&
		    !names(a, SIZE_MAX, name))
			COMPLAIN(a, "the question must say what the key "
			    "belongs to: {%.*s} of \"namespace\" must stand "
			    "in \"path\" or \"headers\" as {path:%.*s}; or say "
			    "\"keys_unique\": true, if no two of them have "
			    "the same key there",
			    SPAN_FMT(name), SPAN_FMT(name));
	}
}

static bool
ask_the_same(const struct conf_route *a, const struct conf_route *b)
{
	const struct conf_reconcile *first = &a->idempotency->reconcile;
	const struct conf_reconcile *second = &b->idempotency->reconcile;
	bool same = a->upstream != NULL && b->upstream != NULL &&
	    conf_shares_target(a->upstream, b->upstream) &&
	    first->n_headers == second->n_headers &&
	    first->path.text != NULL && second->path.text != NULL &&
	    !strcmp(first->path.text, second->path.text);
	for (size_t i = 0; same && i < first->n_headers; i++) {
		const struct conf_header *x = &first->headers[i];
		const struct conf_header *y = &second->headers[i];
		same = !strcasecmp(x->name, y->name) &&
		    span_eq(span_str(x->value.text), span_str(y->value.text)) &&
		    span_eq(span_str(x->secret), span_str(y->secret));
	}
	return same;
}

/*
 * A key of two namespaces, or scopes, is two payments, and the API would be
 * asked for one: a refund was made, as the charge of that number is found.
 */
static void
check_shared(const struct asker *a)
{
	const struct conf *conf = a->l->conf;
	const struct conf_idempotency *own = a->route->idempotency;
	for (size_t i = 0; i < a->route->index; i++) {
		const struct conf_route *route = &conf->routes[i];
		const struct conf_idempotency *other = route->idempotency;
		if (other == NULL || route->observes ||
		    !ask_the_same(route, a->route))
			continue;
		bool named =
		    !strcmp(other->namespace.text, own->namespace.text);
		bool same = own->scope.count == other->scope.count;
		for (size_t k = 0; same && k < own->scope.count; k++)
			same = scopes_same(
			    &other->scope.list[k], &own->scope.list[k]);
		if (named && same)
			continue;
		COMPLAIN(a, "/routes/%zu has another \"%s\" and asks "
		    "the same: the answer could be of its payment with that "
		    "key; let \"path\" say which is meant, or say "
		    "\"keys_unique\": true, if no two of them have the same "
		    "key there", i, named ? "scope" : "namespace");
		return;
	}
}

static void
check_question(const struct asker *a)
{
	const struct conf_idempotency *policy = a->route->idempotency;
	const struct conf_reconcile *asked = &policy->reconcile;
	bool parted = path_is_parted(&asked->path, "/?&=");
	check_pieces(a, &asked->path);
	for (size_t i = 0; i < asked->n_headers; i++) {
		check_pieces(a, &asked->headers[i].value);
		parted &= path_is_parted(&asked->headers[i].value, "");
	}
	if (asked->path.text == NULL)
		return;
	for (size_t i = 0; i < policy->scope.count && !asked->keys_unique; i++)
		check_tenant(a, &policy->scope.list[i]);
	if (!asked->keys_unique) {
		check_namespace(a);
		check_shared(a);
	}
	if (!parted)
		COMPLAIN(a, "one tenant's key could be read as another's: two "
		    "variables of \"path\" must have one of / ? & = between "
		    "them, and each of \"headers\" may have one");
	if (asked->n_headers == 0)
		return;
	if (!asked->says_absent)
		COMPLAIN(a, "with \"headers\" nobody watches: say which "
		    "statuses mean that it did not happen, as in \"absent\": "
		    "[404, 410]");
	if (a->l->conf->store.n_encryption_keys == 0)
		COMPLAIN(a, "with \"headers\" what is asked rests in the "
		    "record: \"store.encryption_keys\" is needed");
}

void
asks_check(struct loader *l, const struct json_place *at,
    const struct conf_route *route)
{
	const struct asker a = {l, at, route};
	const struct conf *conf = l->conf;
	const struct conf_reconcile *question = &route->idempotency->reconcile;
	const struct conf_broker *asked = route->idempotency->witness.broker;
	bool alone = conf_asks_alone(route->idempotency);
	/* There may be headers, and the path is wrong by itself. */
	if (question->path.text != NULL || question->n_headers > 0)
		check_question(&a);
	if (asked != NULL && asked->kind != BROKER_POSTGRES)
		complaints_at_member(l, at, "on_unknown.witness.broker",
		    "\"%s\" is a broker of %s: a witness is in PostgreSQL",
		    asked->name, kinds_all[asked->kind].name);
	/*
	 * By the name of its route gateways tell each other what is to be
	 * asked, and records say whose they are: what another route has sent,
	 * and holds, would be asked about, and set free, as if it were this
	 * one's.
	 */
	for (size_t i = 0; i < conf->n_routes && alone; i++) {
		const struct conf_route *other = &conf->routes[i];
		bool named = other != route && other->idempotency != NULL &&
		    !other->observes && other->name != NULL &&
		    !strcmp(other->name, route->name);
		/* Of two that ask only the second is wrong. */
		if (!named || (i > route->index &&
			conf_asks_alone(other->idempotency)))
			continue;
		COMPLAIN(&a, "another route is called \"%s\" too "
		    "(/routes/%zu), and what it has sent would be asked about "
		    "as this one's: \"name\" is needed", other->name, i);
	}
}

bool
asks_by_key(const struct conf_reconcile *asked)
{
	bool has_key = template_has(&asked->path, 1 << TEMPLATE_KEY);
	for (size_t i = 0; i < asked->n_headers; i++)
		has_key |= template_has(
		    &asked->headers[i].value, 1 << TEMPLATE_KEY);
	return has_key;
}

/*
 * A witness is told of by two fields, and another database or table is another
 * one.  A derived key is told where it is sent; that of a client always was.
 */
void
asks_mark(struct conf *conf)
{
	for (size_t i = 0; i < conf->n_routes; i++) {
		/* The conf is still in the making. */
		struct conf_idempotency *p = (struct conf_idempotency *)(
		    uintptr_t)conf->routes[i].idempotency;
		bool has_witness =
		    p != NULL && p->on_unknown == UNKNOWN_WITNESS;
		bool tells_key = p != NULL && p->send_derived &&
		    asks_by_key(&p->reconcile);
		struct digest digest;
		uint8_t bytes[DIGEST_BYTES];
		if (!has_witness && !tells_key)
			continue;
		p->tells = true;
		digest_begin(&digest, SPAN("mark"), SPAN(""));
		if (has_witness) {
			digest_part(
			    &digest, span_str(p->witness.broker->postgres));
			digest_part(&digest, span_str(p->witness.table));
			digest_part(&digest, span_str(p->key_id_header));
			digest_part(&digest, span_str(p->attempt_header));
		}
		if (tells_key)
			digest_part(&digest, span_str(p->headers.list[0]));
		digest_end(&digest, bytes);
		memcpy(p->mark, bytes, sizeof p->mark);
	}
}
