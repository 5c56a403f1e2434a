/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REQUEST_FIELD(kind, name): header fields of a request that do not reach the
 * upstream as the client sent them.
 *
 *   HOP        ends here, in answers too (RFC 9110, section 7.6.1)
 *   OWN        written anew, by us or by whoever writes the message
 *   FORWARDED  set, where the upstream does not trust the client's front
 *   OVERRIDE   dropped, where the upstream's option trust_overrides is false:
 *              the method or the path would be another one than the route's
 */
REQUEST_FIELD(HOP, "Connection")
REQUEST_FIELD(HOP, "Keep-Alive")
REQUEST_FIELD(HOP, "Proxy-Connection")
REQUEST_FIELD(HOP, "Proxy-Authorization")
REQUEST_FIELD(HOP, "Proxy-Authenticate")
REQUEST_FIELD(HOP, "TE")
REQUEST_FIELD(HOP, "Trailer")
REQUEST_FIELD(HOP, "Transfer-Encoding")
REQUEST_FIELD(HOP, "Upgrade")
REQUEST_FIELD(OWN, "Host")
REQUEST_FIELD(OWN, "Content-Length")
REQUEST_FIELD(OWN, "Expect")
REQUEST_FIELD(OWN, "Via")
REQUEST_FIELD(OWN, "X-Forwarded-For")
REQUEST_FIELD(OWN, "X-Request-Id")
REQUEST_FIELD(FORWARDED, "X-Forwarded-Proto")
REQUEST_FIELD(FORWARDED, "X-Forwarded-Host")
REQUEST_FIELD(OVERRIDE, "X-HTTP-Method-Override")
REQUEST_FIELD(OVERRIDE, "X-HTTP-Method")
REQUEST_FIELD(OVERRIDE, "X-Method-Override")
REQUEST_FIELD(OVERRIDE, "X-Original-URL")
REQUEST_FIELD(OVERRIDE, "X-Rewrite-URL")
