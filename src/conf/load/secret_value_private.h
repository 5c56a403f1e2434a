/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Values that must not be seen, in memory of base/secret.h (types of
 * conf/types.h).  Main thread, but for secret_value_clear.
 */

/* The loader keeps what a URL said, which is taken over; NULL: nothing. */
void secret_value_set_login(struct loader *l, char *user, char *password);
/* Moves a string into memory for secrets; NULL stays NULL. */
char *secret_value_of(char **text);

void secret_value_parse(struct loader *l, const struct given *given);
/* The bytes of an encryption key, in base64. */
void secret_value_parse_key_bytes(
    struct loader *l, const struct given *given);
void secret_value_clear(void *base, void *field);
/* What webhooks are signed with, into secrets and n_secrets of a relay. */
void secret_value_parse_signing(struct loader *l, const struct given *given);
void secret_value_clear_signing(void *base, void *field);
