/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of tbl/options.h about what names the tenant: what becomes of
 * requests that name none; and an entry of scope, where it is an object.
 */

OPT(IDEMPOTENCY, "scope_missing", TOGGLE, scope_missing_forward,
	WORDS("reject forward"), RELOAD,
	"Whether a request that names no tenant is refused (400), or passed on "
	"as one without a key, so that the API itself says 401.",
	"reject")

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
OPT(SCOPE, "jwt", TEXT, jwt, ANY, RELOAD,
	"The name of a claim of the bearer token (JWT), which must be signed "
	"by one of the keys; a token that does not verify is refused (401).",
	NONE)
OPT(SCOPE, "keys", TEXT, keys, ANY, RELOAD,
	"The file with the keys that verify it, or their URL, with https://: a "
	"JWK Set with keys for RS256, RS384, RS512, PS256, ES256, ES384, EdDSA "
	"or HS256. The file is read again when it changes; the URL is asked "
	"again as its Cache-Control says, and for a key that is not known.",
	NONE)
OPT(SCOPE, "ca", TEXT, ca, ANY, RELOAD,
	"A file with the authorities that issue the certificate of the URL's "
	"server; by default those of the system.",
	NONE)
OPT(SCOPE, "issuer", TEXT, issuer, ANY, RELOAD,
	"What iss of the token must be; by default, anything.",
	NONE)
OPT(SCOPE, "audience", TEXT, audience, ANY, RELOAD,
	"What aud of the token must be, or have; by default, anything.",
	NONE)
