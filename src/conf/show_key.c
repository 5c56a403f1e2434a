/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/show_private.h"

json_t *
show_key_derive(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_idempotency *policy = base;
	const struct pointers *pointers = field;
	if (policy->derive_from_body)
		return json_string("body");
	return pointers->count > 0 ? show_pointers(option, base, field)
				   : NULL;
}

json_t *
show_key_label(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_idempotency *policy = base;
	return policy->label_key ? json_string("key")
				 : show_pointers(option, base, field);
}

json_t *
show_key_entity(
    const struct option *option, const void *base, const void *field)
{
	const struct conf_entity *entity = field;
	if (entity->path != NULL)
		return json_pack("{s:s}", "path", entity->path);
	return entity->pointers.count > 0
	    ? show_pointers(option, base, &entity->pointers)
	    : NULL;
}
