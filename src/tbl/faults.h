/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FAULT(name, message): why a Redis, though it answers, is given no new claims,
 * and what to do about it, one line each.
 */
FAULT(VERSION, "Redis is too old; onceproxy needs 7.0 or later")
FAULT(ROLE, "Redis is a replica, which takes no writes; store.redis must name "
	"the master")
FAULT(EVICTION, "Redis may evict records (maxmemory is set and "
	"maxmemory-policy is not noeviction), and a forgotten claim lets a "
	"payment be made twice: CONFIG SET maxmemory-policy noeviction")
