/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "conf/kinds.h"
#include "conf/show_private.h"
#include "conf/words.h"

/* The object of a group, with what its kind of broker has. */
static json_t *
show_fitting(enum group group, const void *base, enum broker_kind kind)
{
	json_t *object = json_object();
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group && kinds_fit(&options[i], kind))
			show_put(object, &options[i], base);
	return object;
}

/* Where there is nothing, the file need not say so. */
static json_t *
unless_empty(json_t *object)
{
	if (json_object_size(object) > 0)
		return object;
	json_decref(object);
	return NULL;
}

json_t *
show_messages_brokers(
    const struct option *option, const void *base, const void *field)
{
	const struct conf *conf = base;
	json_t *object = json_object();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_brokers; i++)
		json_object_set_new(object, conf->brokers[i].name,
		    show_fitting(GROUP_BROKER, &conf->brokers[i],
			conf->brokers[i].kind));
	return unless_empty(object);
}

json_t *
show_messages_sources(
    const struct option *option, const void *base, const void *field)
{
	const struct conf *conf = base;
	json_t *object = json_object();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_sources; i++)
		json_object_set_new(object, conf->sources[i].name,
		    show_fitting(GROUP_SOURCE, &conf->sources[i],
			conf->sources[i].broker->kind));
	return unless_empty(object);
}

json_t *
show_messages_relays(
    const struct option *option, const void *base, const void *field)
{
	const struct conf *conf = base;
	json_t *object = json_object();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_relays; i++) {
		json_t *relay = json_object();
		for (size_t k = 0; k < n_options; k++)
			if (options[k].group == GROUP_RELAY)
				show_put(relay, &options[k],
				    &conf->relays[i]);
		json_object_set_new(object, conf->relays[i].name, relay);
	}
	return unless_empty(object);
}

json_t *
show_messages_receiver(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_upstream *receiver = field;
	(void)option;
	(void)base;
	return receiver->n_targets > 0 ? json_string(receiver->targets[0].url)
				       : NULL;
}

json_t *
show_messages_secrets(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_relay *relay = base;
	json_t *list = relay->n_secrets > 0 ? json_array() : NULL;
	(void)option;
	(void)field;
	for (size_t i = 0; i < relay->n_secrets; i++)
		json_array_append_new(list, json_string(show_hidden));
	return list;
}

json_t *
show_messages_broker_name(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_broker *broker =
	    *(const struct conf_broker *const *)field;
	(void)option;
	(void)base;
	return broker != NULL ? json_string(broker->name) : NULL;
}

json_t *
show_messages_finish(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_finish *finish = field;
	(void)base;
	return finish->column == NULL
	    ? show_taken(words_at(option->words, 0))
	    : json_pack("{s:s, s:s*, s:s*}", "set", finish->column, "from",
		  finish->from, "to", finish->to);
}

json_t *
show_messages_place(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_source *source = base;
	const char *name = *(char *const *)field;
	static const char *const members[BROKER_KIND_COUNT_] = {
	    [BROKER_STREAMS] = "stream",
	    [BROKER_POSTGRES] = "table",
	    [BROKER_KAFKA] = "topic",
	};
	(void)option;
	return name != NULL
	    ? json_pack("{s:s}", members[source->broker->kind], name)
	    : NULL;
}

json_t *
show_messages_key(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_source *source = base;
	(void)field;
	if (source->key == SOURCE_KEY_POINTERS)
		return show_pointers(option, base, &source->key_pointers);
	if (source->key == SOURCE_KEY_HEADER)
		return json_pack("{s:s}", "header", source->key_header);
	return show_taken(words_at(option->words, source->key));
}

json_t *
show_messages_order(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_source *source = base;
	(void)field;
	if (source->order_by == SOURCE_ORDER_POINTERS)
		return show_pointers(option, base, &source->order_pointers);
	if (source->order_by == SOURCE_ORDER_HEADER)
		return json_pack("{s:s}", "header", source->order_header);
	return show_taken(words_at(option->words, source->order_by));
}

json_t *
show_messages_headers(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_source *source = base;
	json_t *object = json_object();
	(void)option;
	(void)field;
	for (size_t i = 0; i < source->request.n_headers; i++) {
		const struct conf_source_header *header =
		    &source->request.headers[i];
		json_object_set_new(object, header->name,
		    json_string(header->secret != NULL ? show_hidden
						       : header->value.text));
	}
	return unless_empty(object);
}

json_t *
show_messages_settings(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_settings *settings = field;
	json_t *object = json_object();
	(void)option;
	(void)base;
	for (size_t i = 0; i < settings->count; i++) {
		const struct conf_setting *setting = &settings->list[i];
		json_object_set_new(object, setting->name,
		    json_string(
			setting->shown ? setting->value : show_hidden));
	}
	return unless_empty(object);
}

json_t *
show_messages_only_word(
    const struct option *option, const void *base, const void *field)
{
	(void)base;
	return *(const bool *)field ? show_taken(words_at(option->words, 0))
				    : NULL;
}

json_t *
show_messages_overflow(
    const struct option *option, const void *base, const void *field)
{
	const struct conf *conf = base;
	return conf->store.events_maxlen > 0
	    ? show_taken(words_at(option->words, *(const bool *)field))
	    : NULL;
}
