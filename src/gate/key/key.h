/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"
#include "gate/key/content.h"

/*
 * The idempotency key of a request is found among the fields or derived from
 * the body here, checked, and reduced to the bytes that make it up.  Nothing
 * here knows records, or the scope that a key is valid in (key/scope.h).  Pure;
 * any thread; field values come without the blanks around them.
 */
enum key_verdict {
	KEY_FOUND,
	KEY_MISSING, /* no field of an accepted name */
	/* Two of them, empty, too long or short, dots or malformed. */
	KEY_INVALID,
};

struct key {
	/* KEY_FOUND: unquoted; of the arena, or of the fields. */
	struct span bytes;
	/*
	 * The same as the upstream knows it: of a derived key a UUID (RFC 9562,
	 * version 8), which any API accepts.
	 */
	struct span sent;
	/* KEY_FOUND: as it was sent; derived: empty. */
	struct field field;
	/* KEY_INVALID: a sentence for the client, of the arena or static. */
	const char *message;
};

/* Finds the key among the fields (RFC 8941, section 3.3.3, or bare). */
MUST_USE enum key_verdict key_find(struct arena *arena,
    const struct conf_idempotency *policy, const struct fields *fields,
    struct key *ret_key);

/*
 * Makes the key of a body, as derive_key says; KEY_MISSING also where the
 * policy derives none.  It is no key that a client could send.
 */
MUST_USE enum key_verdict key_derive(struct arena *arena,
    const struct conf_idempotency *policy, const struct content *body,
    struct key *ret_key);

/*
 * Says why a body does not have these members: what is not possible then, and
 * the reason, as a sentence in the arena; empty: it has them.
 */
struct span key_members_wrong(struct arena *arena, const char *what,
    const struct json_pointers *pointers, const struct content *body);

/* Adds a member with its pointer to a digest; NULL: there is none. */
void key_digest_member(struct digest *digest,
    const struct json_pointer *pointer, const struct json *value);
/*
 * Adds members of a body to a digest, each with its pointer, compared as JSON
 * (base/json.h); false where the body is no JSON, or has null or nothing in the
 * place of one.  The body's values lie in the scratch arena.
 */
MUST_USE bool key_digest_members(struct arena *scratch,
    const struct json_pointers *pointers, const struct content *body,
    struct digest *digest);
