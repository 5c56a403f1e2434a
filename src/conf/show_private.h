/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/show.h"

/* How values are written, for conf/show.c and its parts. */

/* A function for each way in which the types of conf/types.h are written. */
typedef json_t *show_value(
    const struct option *option, const void *base, const void *field);

/* What stands in the place of a secret. */
extern const char show_hidden[];

/* Takes the text over. */
json_t *show_taken(char *text);
show_value show_pointers;
/* Puts what an option has where the dots of its path lead. */
void show_put(
    json_t *object, const struct option *option, const void *base);

/* --- what a request says of its key --- */

show_value show_key_derive;
show_value show_key_label;
show_value show_key_entity;
show_value show_key_preset;
show_value show_key_problems;
show_value show_key_ignored;
show_value show_key_scopes;
show_value show_key_certificate;

/* --- brokers and sources --- */

show_value show_messages_brokers;
show_value show_messages_sources;
show_value show_messages_relays;
show_value show_messages_receiver;
show_value show_messages_secrets;
show_value show_messages_broker_name;
show_value show_messages_finish;
show_value show_messages_place;
show_value show_messages_key;
show_value show_messages_order;
show_value show_messages_headers;
show_value show_messages_settings;
show_value show_messages_only_word;
/* Without events there is nothing that could flow over. */
show_value show_messages_overflow;
