/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * KEY_OPTION(path, what): the options of a route's idempotency that say what a
 * key means, and what becomes of keys that exist where one changes: GONE, they
 * are not found any more, or OTHER_REQUEST, a retry is taken for another
 * request.  STORE_OPTION(name): those of the store that say where records are.
 */
#ifdef KEY_OPTION
KEY_OPTION("namespace", GONE)
KEY_OPTION("scope", GONE)
KEY_OPTION("header", GONE)
KEY_OPTION("derive_key", GONE)
KEY_OPTION("fingerprint.include", OTHER_REQUEST)
KEY_OPTION("fingerprint.headers", OTHER_REQUEST)
KEY_OPTION("fingerprint.json", OTHER_REQUEST)
KEY_OPTION("fingerprint.ignore", OTHER_REQUEST)
KEY_OPTION("fingerprint.only", OTHER_REQUEST)
KEY_OPTION("entity", OTHER_REQUEST)
KEY_OPTION("newer_only", OTHER_REQUEST)
#endif
#ifdef STORE_OPTION
STORE_OPTION("redis")
STORE_OPTION("cluster")
STORE_OPTION("sentinels")
STORE_OPTION("master")
STORE_OPTION("prefix")
STORE_OPTION("shards")
#endif
