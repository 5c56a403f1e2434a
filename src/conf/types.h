/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TYPE(name, type of the field, function that reads, function that frees,
 * function that shows, schema): how the members of tbl/options.h are read.  The
 * first function reads one into its field (load/loader_private.h), the second
 * frees what the first has made (NULL: nothing), the third, of show.c, makes
 * JSON of it again (NULL: its list shows it), and the schema says it in JSON.
 */
TYPE(BOOLEAN, bool, value_parse_boolean, NULL, show_boolean,
	{"type": "boolean"})
TYPE(COUNT, int64_t, value_parse_count, NULL, show_count, {"type": "integer"})
TYPE(DURATION, int64_t, value_parse_duration, NULL, show_duration,
	{"$ref": "#/$defs/duration"})
TYPE(SIZE, int64_t, value_parse_size, NULL, show_size, {"$ref": "#/$defs/size"})
TYPE(CHOICE, unsigned, choice_parse, NULL, show_choice,
	{"$ref": "#/$defs/string"})
TYPE(TOGGLE, bool, choice_parse, NULL, show_toggle, {"$ref": "#/$defs/string"})
TYPE(OVERFLOW, bool, choice_parse, NULL, show_overflow,
	{"$ref": "#/$defs/string"})
TYPE(TEXT, char *, text_parse, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(SECRET, char *, secret_value_parse, secret_value_clear, show_secret,
	{"$ref": "#/$defs/string"})
TYPE(PLAIN_NAME, char *, text_parse, text_clear, show_text,
	{"$ref": "#/$defs/name"})
TYPE(PREFIX, char *, text_parse, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(URI_PREFIX, char *, text_parse, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(FIELD, char *, text_parse, text_clear, show_text,
	{"anyOf": [{"$ref": "#/$defs/field"}, {"const": ""}]})
TYPE(FIELDS, struct strings, list_parse_strings, list_clear_strings,
	show_strings, {"$ref": "#/$defs/fields"})
TYPE(SCOPES, struct conf_scopes, list_scope_parse, list_scope_clear,
	show_scopes,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/field"}, {"$ref": "#/$defs/scope"}]}})
TYPE(CERTIFICATE_PART, enum scope_certificate, choice_parse, NULL,
	show_certificate, {"$ref": "#/$defs/string"})
TYPE(KEY_FIELDS, struct strings, list_parse_strings, list_clear_strings,
	show_one_or_more,
	{"anyOf": [
		{"$ref": "#/$defs/field"},
		{"$ref": "#/$defs/fields"}]})
TYPE(ORIGINS, struct strings, list_parse_strings, list_clear_strings,
	show_strings,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "array", "items": {"$ref": "#/$defs/string"},
		 "minItems": 1}]})
TYPE(METHODS, struct strings, list_parse_strings, list_clear_strings,
	show_strings,
	{"anyOf": [
		{"$ref": "#/$defs/method"},
		{"type": "array",
		 "minItems": 1,
		 "items": {"$ref": "#/$defs/method"}}]})
TYPE(HOST_PORTS, struct strings, list_parse_strings, list_clear_strings,
	show_strings, {"$ref": "#/$defs/some_strings"})
TYPE(NETWORKS, struct strings, list_parse_strings, list_clear_strings,
	show_strings, {"$ref": "#/$defs/some_strings"})
TYPE(POINTERS, struct json_pointers, list_parse_pointers, list_clear_pointers,
	show_pointers, {"$ref": "#/$defs/pointers"})
TYPE(IGNORED, struct json_pointers, list_parse_ignored, list_clear_ignored,
	show_ignored,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/pointer"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["query"],
		 "properties": {"query": {"$ref": "#/$defs/string"}}}]}})
TYPE(DERIVE_KEY, struct json_pointers, list_parse_derive_key,
	list_clear_pointers, show_derive,
	{"anyOf": [
		{"const": "body"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/some_pointers"}]})
TYPE(LABEL, struct json_pointers, list_parse_label, list_clear_pointers,
	show_label,
	{"anyOf": [
		{"const": "key"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/pointers"}]})
TYPE(PARTS, unsigned, choice_parse_parts, NULL, show_parts,
	{"type": "array", "items": {"$ref": "#/$defs/string"}})
TYPE(OUTCOMES, uint8_t[600], choice_parse_outcomes, NULL, show_outcomes,
	{"type": "object",
	 "additionalProperties": false,
	 "patternProperties": {
		"^[2-5]([0-9][0-9]|xx)$": {"$ref": "#/$defs/string"}}})
TYPE(PRESET, enum api_preset, choice_parse, NULL, show_preset,
	{"$ref": "#/$defs/string"})
TYPE(PROBLEMS, int64_t[ROUTE_PROBLEM_COUNT_], choice_parse_problems, NULL,
	show_problems,
	{"type": "object",
	 "additionalProperties":
		{"type": "integer", "minimum": 400, "maximum": 599}})
TYPE(ON_UNKNOWN, unsigned, object_parse_on_unknown, object_clear_on_unknown,
	show_on_unknown,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["reconcile"],
		 "properties": {"reconcile": {"anyOf": [
			{"$ref": "#/$defs/reconcile/properties/path"},
			{"$ref": "#/$defs/reconcile"}]}}}]})
TYPE(RECONCILE_PATH, struct template, path_parse_reconcile, path_clear_template,
	show_template, {"anyOf": [
		{"type": "string", "pattern":
			"^/[^{}]*(\\{(key|(path|json):[^}]*)\\}[^{}]*)+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(NAMESPACE, struct template, path_parse_namespace, path_clear_template,
	show_template,
	{"anyOf": [
		{"type": "string", "pattern":
			"^([^{}]|\\{(?!key\\})[^}:]*\\})+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(STATUSES, bool[600], list_parse_statuses, NULL, show_statuses,
	{"type": "array", "items":
		{"type": "integer", "minimum": 300, "maximum": 599}})
TYPE(POINTER, struct json_pointer, list_parse_pointer, list_clear_pointer,
	show_pointer, {"$ref": "#/$defs/pointer"})
TYPE(ENTITY, struct conf_entity, list_parse_entity, list_clear_entity,
	show_entity,
	{"anyOf": [
		{"$ref": "#/$defs/some_pointers"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["path"],
		 "properties": {"path": {"$ref": "#/$defs/string"}}}]})
TYPE(ADDRESS, struct address, text_parse_address, address_clear, show_address,
	{"$ref": "#/$defs/address"})
TYPE(REDIS, struct address, url_parse_redis, address_clear, show_redis,
	{"anyOf": [
		{"const": "managed"}, {"$ref": "#/$defs/redis"}]})
TYPE(REDIS_URL, struct address, url_parse_redis_url, address_clear, show_redis,
	{"$ref": "#/$defs/redis"})
TYPE(POSTGRES, char *, url_postgres_parse, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(MODE, int64_t, value_parse_mode, NULL, show_mode,
	{"anyOf": [
		{"type": "string", "pattern": "^[0-7]{3,4}$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(PATH, char *, path_parse, path_clear, show_text, {"$ref": "#/$defs/path"})
TYPE(TARGET_PATH, char *, path_parse_target, text_clear, show_text,
	{"anyOf": [
		{"type": "string", "pattern": "^/"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(OWN_PATH, struct conf_route *, path_parse_own, path_clear_own,
	show_own_path, {"$ref": "#/$defs/path"})
TYPE(UPSTREAM_NAME, const struct conf_upstream *, object_parse_upstream_name,
	NULL, show_upstream_name, {"$ref": "#/$defs/string"})
TYPE(TARGETS, struct conf_target *, url_parse_targets, url_clear_targets,
	show_targets,
	{"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/url"}})
TYPE(KEY_BYTES, uint8_t *, secret_value_parse_key_bytes, secret_value_clear,
	NULL, {"$ref": "#/$defs/string"})
TYPE(LISTENS, struct conf_listen *, object_parse_listens, object_clear_listens,
	show_listens,
	{"type": "array",
	 "minItems": 1,
	 "items": {"anyOf": [
		{"$ref": "#/$defs/address"}, {"$ref": "#/$defs/listen"}]}})
TYPE(ENCRYPTION_KEYS, struct conf_encryption_key *,
	object_parse_encryption_keys, object_clear_encryption_keys,
	show_encryption_keys,
	{"type": "array",
	 "minItems": 1,
	 "items": {"$ref": "#/$defs/encryption_key"}})
TYPE(UPSTREAMS, struct conf_upstream *, object_parse_upstreams,
	object_clear_upstreams, show_upstreams,
	{"type": "object",
	 "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/url"}, {"$ref": "#/$defs/upstream"}]}})
TYPE(BROKERS, struct conf_broker *, brokers_parse, brokers_clear, show_brokers,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/broker"}})
TYPE(SOURCES, struct conf_source *, source_parse, source_clear, show_sources,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/source"}})
TYPE(RELAYS, struct conf_relay *, source_parse, source_clear_relays,
	show_relays,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/relay"}})
TYPE(ROUTES, struct conf_route *, object_parse_routes, object_clear_routes,
	show_routes, {"type": "array", "items": {"$ref": "#/$defs/route"}})
TYPE(IDEMPOTENCY, const struct conf_idempotency *, object_parse_idempotency,
	object_clear_idempotency, show_idempotency,
	{"$ref": "#/$defs/idempotency"})
TYPE(DEFAULTS, const struct conf_idempotency *, object_parse_defaults,
	object_clear_idempotency, show_idempotency,
	{"$ref": "#/$defs/idempotency"})

/* --- of sources and relays --- */

TYPE(BROKER_NAME, const struct conf_broker *, source_parse_broker_name, NULL,
	show_broker_name, {"$ref": "#/$defs/string"})
TYPE(SETTINGS, struct conf_settings, kafka_settings_parse, kafka_settings_clear,
	show_settings,
	{"type": "object", "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(TOPICS, struct strings, list_parse_strings, list_clear_strings,
	show_strings, {"$ref": "#/$defs/some_strings"})
TYPE(TOPIC, char *, text_parse, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(TABLE, char *, source_value_parse_table, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(COLUMN, char *, source_value_parse_column, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(OPTIONAL_COLUMN, char *, source_value_parse_optional_column, text_clear,
	show_text, {"anyOf": [{"$ref": "#/$defs/string"}, {"type": "null"}]})
TYPE(FINISH, struct conf_finish, source_value_parse_finish,
	source_value_clear_finish, show_finish,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["set"],
		 "properties": {
			"set": {"$ref": "#/$defs/string"},
			"from": {"type": ["string", "number", "boolean"]},
			"to": {"type": ["string", "number", "boolean"]}}}]})
TYPE(SOURCE_KEY, enum source_key, source_value_parse_key,
	source_value_clear_key, show_source_key,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(SOURCE_ORDER, enum source_order, source_value_parse_order,
	source_value_clear_order, show_source_order,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(PLACE, char *, source_value_parse_place, text_clear, show_place,
	{"anyOf": [
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["stream"],
		 "properties": {"stream": {"$ref": "#/$defs/string"}}},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["table"],
		 "properties": {"table": {"$ref": "#/$defs/string"}}},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["topic"],
		 "properties": {"topic": {"$ref": "#/$defs/string"}}}]})
TYPE(METHOD, char *, source_value_parse_method, text_clear, show_text,
	{"$ref": "#/$defs/method"})
TYPE(MESSAGE_PATH, struct template, path_parse_message, path_clear_template,
	show_template,
	{"anyOf": [
		{"type": "string", "pattern":
		"^/([^{}]|\\{(key|entity|type|id|(json|header):[^}]*)\\})*$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(MESSAGE_HEADERS, struct conf_source_header *, source_value_parse_headers,
	source_value_clear_headers, show_headers,
	{"type": "object",
	 "propertyNames": {"$ref": "#/$defs/field"},
	 "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(FIELD_VALUE, char *, source_value_parse_value, text_clear, show_text,
	{"$ref": "#/$defs/string"})
TYPE(RECEIVER, struct conf_upstream, source_relay_parse_receiver,
	source_relay_clear_receiver, show_receiver, {"$ref": "#/$defs/string"})
TYPE(WEBHOOK_SECRETS, struct conf_webhook_secret *, secret_value_parse_signing,
	secret_value_clear_signing, show_signing,
	{"$ref": "#/$defs/some_strings"})
TYPE(ROUTE_NAMES, struct strings, list_parse_strings, list_clear_strings,
	show_strings, {"$ref": "#/$defs/some_strings"})
TYPE(ONLY_WORD, bool, choice_parse, NULL, show_only_word,
	{"$ref": "#/$defs/string"})
