/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of tbl/options.h about what names the tenant: an entry of scope,
 * where it is an object.
 */

OPT(SCOPE, "basic", ONLY_WORD, basic, WORDS("user"), RELOAD,
	"\"user\": the user of HTTP Basic, whatever the password is.",
	NONE)
OPT(SCOPE, "path", TEXT, path, ANY, RELOAD,
	"The name of a segment {NAME} of the route's path.",
	NONE)
OPT(SCOPE, "certificate", CERTIFICATE_PART, certificate,
	WORDS("fingerprint subject"), RELOAD,
	"Of the certificate that the client presented, on an address whose tls "
	"has client_ca: \"fingerprint\", its SHA-256, or \"subject\", its "
	"name, which a renewed one has too.",
	NONE)
