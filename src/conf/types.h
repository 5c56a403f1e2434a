/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TYPE(name, type of the field, function that reads, function that shows,
 * schema): how the members of tbl/options.h are read.  The first function reads
 * one into its field (load/loader_private.h), the second, of show.c, makes JSON
 * of it again, and the schema says it in JSON.
 */
TYPE(BOOLEAN, bool, value_parse_boolean, show_boolean, {"type": "boolean"})
TYPE(COUNT, int64_t, value_parse_amount, show_number, {"type": "integer"})
TYPE(DURATION, int64_t, value_parse_amount, show_number,
	{"$ref": "#/$defs/duration"})
TYPE(SIZE, int64_t, value_parse_amount, show_number, {"$ref": "#/$defs/size"})
TYPE(CHOICE, unsigned, value_parse_choice, show_choice,
	{"$ref": "#/$defs/string"})
TYPE(TOGGLE, bool, value_parse_choice, show_choice, {"$ref": "#/$defs/string"})
TYPE(OVERFLOW, bool, value_parse_choice, show_choice,
	{"$ref": "#/$defs/string"})
TYPE(TEXT, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(SECRET, char *, text_parse_secret, show_secret, {"$ref": "#/$defs/string"})
TYPE(PLAIN_NAME, char *, text_parse, show_text, {"$ref": "#/$defs/name"})
TYPE(PREFIX, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(URI_PREFIX, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(FIELD, char *, text_parse, show_text,
	{"anyOf": [{"$ref": "#/$defs/field"}, {"const": ""}]})
TYPE(FIELDS, struct strings, list_parse_strings, show_strings,
	{"$ref": "#/$defs/fields"})
TYPE(SCOPES, struct conf_scopes, list_scope_parse, show_scopes,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/field"}, {"$ref": "#/$defs/scope"}]}})
TYPE(CERTIFICATE_PART, enum scope_certificate, value_parse_choice,
	show_choice, {"$ref": "#/$defs/string"})
TYPE(KEY_FIELDS, struct strings, list_parse_strings, show_one_or_more,
	{"anyOf": [
		{"$ref": "#/$defs/field"},
		{"$ref": "#/$defs/fields"}]})
TYPE(ORIGINS, struct strings, list_parse_strings, show_strings,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"}]})
TYPE(METHODS, struct strings, list_parse_strings, show_strings,
	{"anyOf": [
		{"$ref": "#/$defs/method"},
		{"type": "array",
		 "minItems": 1,
		 "items": {"$ref": "#/$defs/method"}}]})
TYPE(HOST_PORTS, struct strings, list_parse_strings, show_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(NETWORKS, struct strings, list_parse_strings, show_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(POINTERS, struct json_pointers, list_parse_pointers, show_pointers,
	{"$ref": "#/$defs/pointers"})
TYPE(IGNORED, struct json_pointers, list_parse_ignored, show_ignored,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/pointer"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["query"],
		 "properties": {"query": {"$ref": "#/$defs/string"}}}]}})
TYPE(DERIVE_KEY, struct json_pointers, list_parse_word, show_word,
	{"anyOf": [
		{"const": "body"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/some_pointers"}]})
TYPE(LABEL, struct json_pointers, list_parse_word, show_word,
	{"anyOf": [
		{"const": "key"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/pointers"}]})
TYPE(PARTS, unsigned, value_parse_parts, show_parts,
	{"type": "array", "items": {"$ref": "#/$defs/string"}})
TYPE(OUTCOMES, uint8_t[600], value_parse_outcomes, show_outcomes,
	{"type": "object",
	 "additionalProperties": false,
	 "patternProperties": {
		"^[2-5]([0-9][0-9]|xx)$": {"$ref": "#/$defs/string"}}})
TYPE(PRESET, enum api_preset, value_parse_choice, show_choice,
	{"$ref": "#/$defs/string"})
TYPE(PROBLEMS, int64_t[ROUTE_PROBLEM_COUNT_], value_parse_problems,
	show_problems,
	{"type": "object",
	 "additionalProperties":
		{"type": "integer", "minimum": 400, "maximum": 599}})
TYPE(ON_UNKNOWN, unsigned, object_parse_on_unknown, show_on_unknown,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "minProperties": 1,
		 "maxProperties": 1,
		 "properties": {
			"reconcile": {"anyOf": [
			{"$ref": "#/$defs/reconcile/properties/path"},
			{"$ref": "#/$defs/reconcile"}]},
			"witness": {"$ref": "#/$defs/witness"}}}]})
TYPE(RECONCILE_PATH, struct template, path_parse_template, show_text,
	{"anyOf": [
		{"type": "string", "pattern":
		"^/[^{}]*(\\{(key|scope:\\d+|(path|json):[^}]*)\\}[^{}]*)+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(RECONCILE_HEADERS, struct conf_header *, source_value_parse_headers,
	show_headers,
	{"type": "object",
	 "minProperties": 1,
	 "propertyNames": {"$ref": "#/$defs/field"},
	 "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(WITNESS_THEN, bool, object_parse_then, show_then,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["reconcile"],
		 "properties": {"reconcile": {"anyOf": [
			{"$ref": "#/$defs/reconcile/properties/path"},
			{"$ref": "#/$defs/reconcile"}]}}}]})
TYPE(NAMESPACE, struct template, path_parse_template, show_text,
	{"anyOf": [
		{"type": "string", "pattern":
			"^([^{}]|\\{(?!key\\})[^}:]*\\})+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(STATUSES, bool[600], list_parse_statuses, show_statuses,
	{"type": "array", "items":
		{"type": "integer", "minimum": 300, "maximum": 599}})
TYPE(POINTER, struct json_pointer, list_parse_pointer, show_pointer,
	{"$ref": "#/$defs/pointer"})
TYPE(ENTITY, struct conf_entity, list_parse_entity, show_entity,
	{"anyOf": [
		{"$ref": "#/$defs/some_pointers"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["path"],
		 "properties": {"path": {"$ref": "#/$defs/string"}}}]})
TYPE(ADDRESS, struct address, text_parse_address, show_text,
	{"$ref": "#/$defs/address"})
TYPE(REDIS, struct address, url_parse_redis, show_redis,
	{"anyOf": [
		{"const": "managed"}, {"$ref": "#/$defs/redis"}]})
TYPE(REDIS_URL, struct address, url_parse_redis, show_redis,
	{"$ref": "#/$defs/redis"})
TYPE(POSTGRES, char *, url_parse_postgres, show_text,
	{"$ref": "#/$defs/string"})
TYPE(MODE, int64_t, value_parse_mode, show_number,
	{"anyOf": [
		{"type": "string", "pattern": "^[0-7]{3,4}$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(PATH, char *, path_parse, show_text, {"$ref": "#/$defs/path"})
TYPE(TARGET_PATH, char *, text_parse, show_text,
	{"anyOf": [
		{"type": "string", "pattern": "^/"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(OWN_PATH, struct conf_route *, path_parse, show_own_path,
	{"$ref": "#/$defs/path"})
TYPE(UPSTREAM_NAME, const struct conf_upstream *, object_parse_named,
	show_name, {"$ref": "#/$defs/string"})
TYPE(TARGETS, struct conf_target *, url_parse_targets, show_targets,
	{"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/url"}})
TYPE(KEY_BYTES, uint8_t *, text_parse_key_bytes, show_secret,
	{"$ref": "#/$defs/string"})
TYPE(LISTENS, struct conf_listen *, object_parse_list, show_list,
	{"type": "array",
	 "minItems": 1,
	 "items": {"anyOf": [
		{"$ref": "#/$defs/address"}, {"$ref": "#/$defs/listen"}]}})
TYPE(ENCRYPTION_KEYS, struct conf_encryption_key *, object_parse_list,
	show_list,
	{"type": "array",
	 "minItems": 1,
	 "items": {"$ref": "#/$defs/encryption_key"}})
TYPE(ADMIN_TOKENS, struct conf_admin_token *, object_parse_list, show_list,
	{"type": "object",
	 "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/string"}, {"$ref": "#/$defs/admin_token"}]}})
TYPE(UPSTREAMS, struct conf_upstream *, object_parse_list, show_list,
	{"type": "object",
	 "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/url"}, {"$ref": "#/$defs/upstream"}]}})
TYPE(BROKERS, struct conf_broker *, object_parse_list, show_list,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/broker"}})
TYPE(SOURCES, struct conf_source *, object_parse_list, show_list,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/source"}})
TYPE(RELAYS, struct conf_relay *, object_parse_list, show_list,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/relay"}})
TYPE(ROUTES, struct conf_route *, object_parse_list, show_list,
	{"type": "array", "items": {"$ref": "#/$defs/route"}})
TYPE(IDEMPOTENCY, const struct conf_idempotency *, object_parse_idempotency,
	show_idempotency, {"$ref": "#/$defs/idempotency"})
TYPE(DEFAULTS, const struct conf_idempotency *, object_parse_idempotency,
	show_idempotency, {"$ref": "#/$defs/idempotency"})

/* --- of sources and relays --- */

TYPE(BROKER_NAME, const struct conf_broker *, object_parse_named,
	show_name, {"$ref": "#/$defs/string"})
TYPE(SETTINGS, struct conf_settings, kafka_settings_parse, show_settings,
	{"type": "object", "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(TOPICS, struct strings, list_parse_strings, show_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(TOPIC, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(TABLE, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(COLUMN, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(OPTIONAL_COLUMN, char *, text_parse, show_text,
	{"anyOf": [{"$ref": "#/$defs/string"}, {"type": "null"}]})
TYPE(FINISH, struct conf_finish, source_value_parse_finish, show_finish,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["set"],
		 "properties": {
			"set": {"$ref": "#/$defs/string"},
			"from": {"type": ["string", "number", "boolean"]},
			"to": {"type": ["string", "number", "boolean"]}}}]})
TYPE(SOURCE_KEY, enum source_key, source_value_parse_chosen,
	show_chosen,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(SOURCE_ORDER, enum source_order, source_value_parse_chosen,
	show_chosen,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(PLACE, char *, source_value_parse_place, show_place,
	{"type": "object",
	 "additionalProperties": false,
	 "minProperties": 1,
	 "maxProperties": 1,
	 "properties": {
		"stream": {"$ref": "#/$defs/string"},
		"table": {"$ref": "#/$defs/string"},
		"topic": {"$ref": "#/$defs/string"}}})
TYPE(METHOD, char *, text_parse, show_text, {"$ref": "#/$defs/method"})
TYPE(MESSAGE_PATH, struct template, path_parse_template, show_text,
	{"anyOf": [
		{"type": "string", "pattern":
		"^/([^{}]|\\{(key|entity|type|id|(json|header):[^}]*)\\})*$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(MESSAGE_HEADERS, struct conf_header *, source_value_parse_headers,
	show_headers,
	{"type": "object",
	 "propertyNames": {"$ref": "#/$defs/field"},
	 "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(FIELD_VALUE, char *, text_parse, show_text, {"$ref": "#/$defs/string"})
TYPE(RECEIVER, struct conf_upstream, source_relay_parse_receiver, show_receiver,
	{"$ref": "#/$defs/string"})
TYPE(WEBHOOK_SECRETS, struct conf_webhook_secret *, text_parse_signing,
	show_signing, {"$ref": "#/$defs/some_strings"})
TYPE(ROUTE_NAMES, struct strings, list_parse_strings, show_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(ONLY_WORD, bool, value_parse_choice, show_choice,
	{"$ref": "#/$defs/string"})
