/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TYPE(name, type of the field, function that reads, function that frees,
 * schema): how the members of tbl/options.h are read.  The first function
 * reads one into its field (load/loader_private.h), the second frees what the
 * first has made, and the schema says it in JSON.
 */
TYPE(BOOLEAN, bool, value_parse_boolean, value_clear_nothing,
	{"type": "boolean"})
TYPE(COUNT, int64_t, value_parse_count, value_clear_nothing,
	{"type": "integer"})
TYPE(DURATION, int64_t, value_parse_duration, value_clear_nothing,
	{"$ref": "#/$defs/duration"})
TYPE(SIZE, int64_t, value_parse_size, value_clear_nothing,
	{"$ref": "#/$defs/size"})
TYPE(CHOICE, unsigned, choice_parse, value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(TOGGLE, bool, choice_parse_toggle, value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(OVERFLOW, bool, choice_parse_toggle, value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(TEXT, char *, text_parse, text_clear, {"$ref": "#/$defs/string"})
TYPE(SECRET, char *, secret_value_parse, secret_value_clear,
	{"$ref": "#/$defs/string"})
TYPE(PLAIN_NAME, char *, text_parse_plain_name, text_clear,
	{"$ref": "#/$defs/name"})
TYPE(PREFIX, char *, text_parse_prefix, text_clear, {"$ref": "#/$defs/string"})
TYPE(URI_PREFIX, char *, text_parse_uri_prefix, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(FIELD, char *, text_parse_field, text_clear,
	{"anyOf": [{"$ref": "#/$defs/field"}, {"const": ""}]})
TYPE(FIELDS, struct strings, list_parse_fields, list_clear_strings,
	{"$ref": "#/$defs/fields"})
TYPE(SCOPES, struct conf_scopes, list_scope_parse, list_scope_clear,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/field"}, {"$ref": "#/$defs/scope"}]}})
TYPE(CERTIFICATE_PART, enum scope_certificate, list_scope_parse_certificate,
	value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(KEY_FIELDS, struct strings, list_parse_key_fields, list_clear_strings,
	{"anyOf": [
		{"$ref": "#/$defs/field"},
		{"$ref": "#/$defs/fields", "minItems": 1}]})
TYPE(METHODS, struct strings, list_parse_methods, list_clear_strings,
	{"anyOf": [
		{"$ref": "#/$defs/method"},
		{"type": "array",
		 "minItems": 1,
		 "items": {"$ref": "#/$defs/method"}}]})
TYPE(HOST_PORTS, struct strings, list_parse_host_ports, list_clear_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(NETWORKS, struct strings, list_parse_networks, list_clear_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(POINTERS, struct json_pointers, list_parse_pointers, list_clear_pointers,
	{"$ref": "#/$defs/pointers"})
TYPE(IGNORED, struct json_pointers, list_parse_ignored, list_clear_ignored,
	{"type": "array",
	 "items": {"anyOf": [
		{"$ref": "#/$defs/pointer"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["query"],
		 "properties": {"query": {"$ref": "#/$defs/string"}}}]}})
TYPE(DERIVE_KEY, struct json_pointers, list_parse_derive_key,
	list_clear_pointers,
	{"anyOf": [
		{"const": "body"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/some_pointers"}]})
TYPE(LABEL, struct json_pointers, list_parse_label, list_clear_pointers,
	{"anyOf": [
		{"const": "key"},
		{"$ref": "#/$defs/elsewhere"},
		{"$ref": "#/$defs/pointers"}]})
TYPE(PARTS, unsigned, choice_parse_parts, value_clear_nothing,
	{"type": "array", "items": {"$ref": "#/$defs/string"}})
TYPE(OUTCOMES, uint8_t[600], choice_parse_outcomes, value_clear_nothing,
	{"type": "object",
	 "additionalProperties": false,
	 "patternProperties": {
		"^[2-5]([0-9][0-9]|xx)$": {"$ref": "#/$defs/string"}}})
TYPE(PRESET, enum api_preset, choice_parse_preset, value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(PROBLEMS, int64_t[ROUTE_PROBLEM_COUNT_], choice_parse_problems,
	value_clear_nothing,
	{"type": "object",
	 "additionalProperties":
		{"type": "integer", "minimum": 400, "maximum": 599}})
TYPE(ON_UNKNOWN, unsigned, object_parse_on_unknown, object_clear_on_unknown,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["reconcile"],
		 "properties": {"reconcile": {"anyOf": [
			{"$ref": "#/$defs/reconcile/properties/path"},
			{"$ref": "#/$defs/reconcile"}]}}}]})
TYPE(RECONCILE_PATH, struct template, path_parse_reconcile,
	path_clear_template, {"anyOf": [
		{"type": "string", "pattern":
			"^/[^{}]*(\\{(key|(path|json):[^}]*)\\}[^{}]*)+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(NAMESPACE, struct template, path_parse_namespace, path_clear_template,
	{"anyOf": [
		{"type": "string", "pattern":
			"^([^{}]|\\{(?!key\\})[^}:]*\\})+$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(STATUSES, bool[600], list_parse_statuses, value_clear_nothing,
	{"type": "array", "items":
		{"type": "integer", "minimum": 300, "maximum": 599}})
TYPE(POINTER, struct json_pointer, list_parse_pointer, list_clear_pointer,
	{"$ref": "#/$defs/pointer"})
TYPE(ENTITY, struct conf_entity, list_parse_entity, list_clear_entity,
	{"anyOf": [
		{"$ref": "#/$defs/some_pointers"},
		{"type": "object",
		 "additionalProperties": false,
		 "required": ["path"],
		 "properties": {"path": {"$ref": "#/$defs/string"}}}]})
TYPE(ADDRESS, struct address, text_parse_address, address_clear,
	{"$ref": "#/$defs/address"})
TYPE(REDIS, struct address, url_parse_redis, address_clear,
	{"anyOf": [
		{"const": "managed"}, {"$ref": "#/$defs/redis"}]})
TYPE(REDIS_URL, struct address, url_parse_redis_url, address_clear,
	{"$ref": "#/$defs/redis"})
TYPE(POSTGRES, char *, url_postgres_parse, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(MODE, int64_t, value_parse_mode, value_clear_nothing,
	{"anyOf": [
		{"type": "string", "pattern": "^[0-7]{3,4}$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(PATH, char *, path_parse, path_clear, {"$ref": "#/$defs/path"})
TYPE(TARGET_PATH, char *, path_parse_target, text_clear,
	{"anyOf": [
		{"type": "string", "pattern": "^/"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(OWN_PATH, struct conf_route *, path_parse_own, path_clear_own,
	{"$ref": "#/$defs/path"})
TYPE(UPSTREAM_NAME, const struct conf_upstream *, object_parse_upstream_name,
	value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(TARGETS, struct conf_target *, url_parse_targets, url_clear_targets,
	{"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/url"}})
TYPE(KEY_BYTES, uint8_t *, secret_value_parse_key_bytes, secret_value_clear,
	{"$ref": "#/$defs/string"})
TYPE(LISTENS, struct conf_listen *, object_entries_parse_listens,
	object_entries_clear_listens,
	{"type": "array",
	 "minItems": 1,
	 "items": {"anyOf": [
		{"$ref": "#/$defs/address"}, {"$ref": "#/$defs/listen"}]}})
TYPE(ENCRYPTION_KEYS, struct conf_encryption_key *,
	object_entries_parse_encryption_keys,
	object_entries_clear_encryption_keys,
	{"type": "array",
	 "minItems": 1,
	 "items": {"$ref": "#/$defs/encryption_key"}})
TYPE(UPSTREAMS, struct conf_upstream *, object_parse_upstreams,
	object_clear_upstreams,
	{"type": "object",
	 "additionalProperties": {"anyOf": [
		{"$ref": "#/$defs/url"}, {"$ref": "#/$defs/upstream"}]}})
TYPE(BROKERS, struct conf_broker *, brokers_parse, brokers_clear,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/broker"}})
TYPE(SOURCES, struct conf_source *, source_parse, source_clear,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/source"}})
TYPE(RELAYS, struct conf_relay *, source_parse, source_clear_relays,
	{"type": "object",
	 "additionalProperties": {"$ref": "#/$defs/relay"}})
TYPE(ROUTES, struct conf_route *, object_parse_routes, object_clear_routes,
	{"type": "array", "items": {"$ref": "#/$defs/route"}})
TYPE(IDEMPOTENCY, const struct conf_idempotency *, object_parse_idempotency,
	object_clear_idempotency,
	{"$ref": "#/$defs/idempotency"})
TYPE(DEFAULTS, const struct conf_idempotency *, object_parse_defaults,
	object_clear_idempotency,
	{"$ref": "#/$defs/idempotency"})

/* --- of sources and relays --- */

TYPE(BROKER_NAME, const struct conf_broker *, source_parse_broker_name,
	value_clear_nothing,
	{"$ref": "#/$defs/string"})
TYPE(SETTINGS, struct conf_settings, kafka_settings_parse,
	kafka_settings_clear,
	{"type": "object", "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(TOPICS, struct strings, list_parse_topics, list_clear_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(TOPIC, char *, list_parse_topic, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(TABLE, char *, source_value_parse_table, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(COLUMN, char *, source_value_parse_column, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(OPTIONAL_COLUMN, char *, source_value_parse_optional_column, text_clear,
	{"anyOf": [{"$ref": "#/$defs/string"}, {"type": "null"}]})
TYPE(FINISH, struct conf_finish, source_value_parse_finish,
	source_value_clear_finish,
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
	source_value_clear_key,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(SOURCE_ORDER, enum source_order, source_value_parse_order,
	source_value_clear_order,
	{"anyOf": [
		{"$ref": "#/$defs/string"},
		{"$ref": "#/$defs/some_strings"},
		{"$ref": "#/$defs/header_of"}]})
TYPE(PLACE, char *, source_value_parse_place, text_clear,
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
TYPE(METHOD, char *, source_value_parse_method, text_clear,
	{"$ref": "#/$defs/method"})
TYPE(MESSAGE_PATH, struct template, path_parse_message, path_clear_template,
	{"anyOf": [
		{"type": "string", "pattern":
		"^/([^{}]|\\{(key|entity|type|id|(json|header):[^}]*)\\})*$"},
		{"$ref": "#/$defs/elsewhere"}]})
TYPE(MESSAGE_HEADERS, struct conf_source_header *,
	source_value_parse_headers, source_value_clear_headers,
	{"type": "object",
	 "propertyNames": {"$ref": "#/$defs/field"},
	 "additionalProperties": {"$ref": "#/$defs/string"}})
TYPE(FIELD_VALUE, char *, source_value_parse_value, text_clear,
	{"$ref": "#/$defs/string"})
TYPE(RECEIVER, struct conf_upstream, source_relay_parse_receiver,
	source_relay_clear_receiver,
	{"$ref": "#/$defs/string"})
TYPE(WEBHOOK_SECRETS, struct conf_webhook_secret *, secret_value_parse_signing,
	secret_value_clear_signing,
	{"$ref": "#/$defs/some_strings"})
TYPE(ROUTE_NAMES, struct strings, list_parse_routes, list_clear_strings,
	{"$ref": "#/$defs/some_strings"})
TYPE(ONLY_WORD, bool, choice_parse_only, value_clear_nothing,
	{"$ref": "#/$defs/string"})
