/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * KEY_OPTION(path, loss): the options of a route's idempotency that say what a
 * key means, and what becomes of keys that exist where one changes.
 * SOURCE_OPTION(path, loss): the same of a source, and of its messages that
 * come again.
 * STORE_OPTION(name): those of the store that say where records are.
 */
#ifdef KEY_OPTION
#define KEYS_GONE \
	"keys that exist are not found any more, and their retries are " \
	"executed again"
#define KEYS_OTHER_REQUEST \
	"retries of keys that exist are compared in another way: where that " \
	"makes a difference, one is taken for another request, and refused " \
	"(key-reused), or one that was refused so far is taken for a retry"
KEY_OPTION("namespace", KEYS_GONE)
KEY_OPTION("scope", KEYS_GONE)
KEY_OPTION("header", KEYS_GONE)
KEY_OPTION("derive_key", KEYS_GONE)
KEY_OPTION("fingerprint.include", KEYS_OTHER_REQUEST)
KEY_OPTION("fingerprint.headers", KEYS_OTHER_REQUEST)
KEY_OPTION("fingerprint.json", KEYS_OTHER_REQUEST)
KEY_OPTION("fingerprint.ignore", KEYS_OTHER_REQUEST)
KEY_OPTION("fingerprint.only", KEYS_OTHER_REQUEST)
KEY_OPTION("entity", KEYS_OTHER_REQUEST)
KEY_OPTION("newer_only", KEYS_OTHER_REQUEST)
#undef KEYS_GONE
#undef KEYS_OTHER_REQUEST
#endif
#ifdef STORE_OPTION
STORE_OPTION("redis")
STORE_OPTION("cluster")
STORE_OPTION("sentinels")
STORE_OPTION("master")
STORE_OPTION("prefix")
STORE_OPTION("shards")
#endif
#ifdef SOURCE_OPTION
#define TAKEN_FOR_ANOTHER \
	"a message that comes again is taken for another one (mismatch) " \
	"where the route compares that"
SOURCE_OPTION("key", "what was executed has another key by now, and a message "
	"that comes again is executed again")
/* A position has these names in it. */
#define IN_THE_KEY \
	"that name is in the key of a message that has none of its own: one " \
	"that comes again is executed again"
SOURCE_OPTION("broker", IN_THE_KEY)
SOURCE_OPTION("stream", IN_THE_KEY)
SOURCE_OPTION("table", IN_THE_KEY)
/* Its keys are the route's, and the path may be compared. */
SOURCE_OPTION("request.path", "a message that comes again is executed again "
	"where the route, or what the path says of its tenant, has other keys, "
	"and is taken for another one (mismatch) elsewhere")
SOURCE_OPTION("group", "another group reads all that is there anew, and "
	"executes again what has no record any more")
SOURCE_OPTION("finish", "rows that were finished may be unread again, and "
	"those that have no record any more are executed again")
SOURCE_OPTION("columns.id", IN_THE_KEY)
SOURCE_OPTION("columns.headers", "a message may have another key there: one "
	"that comes again is executed again")
SOURCE_OPTION("request.method", TAKEN_FOR_ANOTHER)
SOURCE_OPTION("request.body.field", TAKEN_FOR_ANOTHER)
SOURCE_OPTION("columns.payload", TAKEN_FOR_ANOTHER)
#undef IN_THE_KEY
#undef TAKEN_FOR_ANOTHER
#endif
