/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TYPE(name, type of the field, parse_, clear_, schema): how the members of
 * tbl/options.h are read.  parse_NAME reads one (conf/loader_private.h),
 * clear_NAME frees what it made, and the schema says it in JSON.
 */
TYPE(BOOLEAN, bool, boolean, nothing, {"type": "boolean"})
TYPE(COUNT, int64_t, count, nothing, {"type": "integer"})
TYPE(DURATION, int64_t, duration, nothing, {"$ref": "#/$defs/duration"})
TYPE(SIZE, int64_t, size, nothing, {"$ref": "#/$defs/size"})
TYPE(CHOICE, unsigned, choice, nothing, {"$ref": "#/$defs/string"})
TYPE(TOGGLE, bool, toggle, nothing, {"$ref": "#/$defs/string"})
TYPE(TEXT, char *, text, text, {"$ref": "#/$defs/string"})
TYPE(SECRET, char *, secret, secret, {"$ref": "#/$defs/string"})
TYPE(KEY_NAME, char *, key_name, text, {"$ref": "#/$defs/string"})
TYPE(PREFIX, char *, prefix, text, {"$ref": "#/$defs/string"})
TYPE(URI_PREFIX, char *, uri_prefix, text, {"$ref": "#/$defs/string"})
TYPE(FIELD, char *, field, text, {"$ref": "#/$defs/string"})
TYPE(FIELDS, struct strings, fields, strings, {"$ref": "#/$defs/strings"})
TYPE(KEY_FIELDS, struct strings, key_fields, strings,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"}]})
TYPE(METHODS, struct strings, methods, strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(HOST_PORTS, struct strings, host_ports, strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(POINTERS, struct pointers, pointers, pointers,
	{"$ref": "#/$defs/strings"})
TYPE(DERIVE_KEY, struct pointers, derive_key, pointers,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"}]})
TYPE(PARTS, unsigned, parts, nothing,
	{"type": "array", "items": {"$ref": "#/$defs/string"}})
TYPE(OUTCOMES, uint8_t[600], outcomes, nothing,
	{"type": "object",
	 "additionalProperties": false,
	 "patternProperties": {
		"^[2-5]([0-9][0-9]|xx)$": {"$ref": "#/$defs/string"}}})
TYPE(ON_UNKNOWN, unsigned, on_unknown, on_unknown,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["reconcile"],
		 "properties": {"reconcile": {"$ref": "#/$defs/string"}}}]})
TYPE(ADDRESS, struct address, address, address, {"$ref": "#/$defs/string"})
TYPE(REDIS, struct address, redis, address, {"$ref": "#/$defs/string"})
TYPE(MODE, int64_t, mode, nothing, {"$ref": "#/$defs/string"})
TYPE(PATH, char *, path, path, {"$ref": "#/$defs/string"})
TYPE(UPSTREAM_NAME, const struct conf_upstream *, upstream_name, nothing,
	{"$ref": "#/$defs/string"})
TYPE(TARGETS, struct conf_target *, targets, targets,
	{"$ref": "#/$defs/some_strings"})
TYPE(KEY_BYTES, uint8_t *, key_bytes, secret,
	{"$ref": "#/$defs/string"})
TYPE(LISTENS, struct conf_listen *, listens, listens,
	{"type": "array",
	 "minItems": 1,
	 "items": {"anyOf": [
		{"$ref": "#/$defs/string"}, {"$ref": "#/$defs/listen"}]}})
TYPE(ENCRYPTION_KEYS, struct conf_encryption_key *, encryption_keys,
	encryption_keys,
	{"type": "array",
	 "minItems": 1,
	 "items": {"$ref": "#/$defs/encryption_key"}})
TYPE(UPSTREAMS, struct conf_upstream *, upstreams, upstreams,
	{"type": "object",
	 "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/string"}, {"$ref": "#/$defs/upstream"}]}})
TYPE(ROUTES, struct conf_route *, routes, routes,
	{"type": "array", "items": {"$ref": "#/$defs/route"}})
TYPE(IDEMPOTENCY, const struct conf_idempotency *, idempotency, idempotency,
	{"$ref": "#/$defs/idempotency"})
TYPE(DEFAULTS, const struct conf_idempotency *, defaults, idempotency,
	{"$ref": "#/$defs/idempotency"})
