/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * KEY_OPTION(path, loss): the options of a route's idempotency that say what a
 * key means, and what becomes of keys that exist where one changes.
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
