/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PAIR(group, option, relation, other): members of one object of the file
 * (tbl/options.h) that do not stand alone: one NEEDS the other, or stands
 * NOT_BESIDE it.  Of those of one option the first that is not so is told.
 */
PAIR(ROOT, "store.cluster", NOT_BESIDE, "store.redis")
PAIR(ROOT, "store.sentinels", NOT_BESIDE, "store.redis")
PAIR(ROOT, "store.sentinels", NOT_BESIDE, "store.cluster")
PAIR(ROOT, "store.sentinels", NEEDS, "store.master")
PAIR(ROOT, "store.master", NOT_BESIDE, "store.redis")
PAIR(ROOT, "store.master", NOT_BESIDE, "store.cluster")
PAIR(ROOT, "store.master", NEEDS, "store.sentinels")
PAIR(ROOT, "store.tls.certificate", NEEDS, "store.tls.key")
PAIR(ROOT, "store.tls.key", NEEDS, "store.tls.certificate")
PAIR(UPSTREAM, "certificate", NEEDS, "key")
PAIR(UPSTREAM, "key", NEEDS, "certificate")
PAIR(BROKER, "cluster", NOT_BESIDE, "redis")
PAIR(BROKER, "sentinels", NOT_BESIDE, "redis")
PAIR(BROKER, "sentinels", NOT_BESIDE, "cluster")
PAIR(BROKER, "sentinels", NEEDS, "master")
PAIR(BROKER, "master", NOT_BESIDE, "redis")
PAIR(BROKER, "master", NOT_BESIDE, "cluster")
PAIR(BROKER, "master", NEEDS, "sentinels")
PAIR(BROKER, "tls.certificate", NEEDS, "tls.key")
PAIR(BROKER, "tls.key", NEEDS, "tls.certificate")
PAIR(RELAY, "broker", NOT_BESIDE, "webhook")
PAIR(RELAY, "table", NOT_BESIDE, "webhook")
PAIR(RELAY, "topic", NOT_BESIDE, "webhook")
