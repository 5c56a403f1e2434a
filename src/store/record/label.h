/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/loop/log.h"
#include "base/must.h"
#include "conf/conf.h"
#include "store/record/key_id.h"
#include "store/record/provenance.h"

/*
 * A record's label (idempotency.label): what a client said that people know a
 * payment by.  In a record's provenance and in events it stands as "=" and the
 * text; or, where there are encryption keys, sealed for its key (record/seal.h)
 * and in base64 (RFC 4648, section 5).  It knows nothing of requests.  Pure but
 * for the seal's nonce; any thread.  All text lies in the arena.
 */
enum { LABEL_MAX_BYTES = 256 }; /* of the text; a longer one is cut */

/* The text as it is stored; empty where the text is. */
struct span label_write(struct arena *arena, const struct conf_store *conf,
    const struct key_id *key_id, struct span text);
/*
 * The reverse.  False: there is none, it is malformed, or no key opens it.
 */
MUST_USE bool label_read(struct arena *arena, const struct conf_store *conf,
    const struct key_id *key_id, struct span stored, struct span *ret_text);

/*
 * What stands for a label in the name of its index (lua/labels.lua), so that
 * nobody reads it there: a hash of the text, keyed with store.secret, or else
 * with the first encryption key.  nth: 0, that of records to come; from 1 on
 * those that other encryption keys have made.  False: there is none.
 */
enum { LABEL_INDEX_CHARS = 22 };
bool label_index(const struct conf_store *conf, struct span text, size_t nth,
    char ret_name[LABEL_INDEX_CHARS + 1]);

/* Adds request_id and label to a line of the log, where they are known. */
void label_log(struct logline *line, const struct conf_store *conf,
    const struct key_id *key_id, const struct provenance *from);
