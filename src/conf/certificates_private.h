/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/loader_private.h"

/*
 * The certificates and keys that an entry of listen names.  The files are
 * read when the configuration is loaded: what `check` said is well is what
 * is served, and a reload takes them all or none.  Main thread.
 */

/* Reads them as they are now; they are freed with the entry. */
void certificates_load(struct loader *l, const struct json_place *at,
    struct conf_listen *listen);
void certificates_clear(struct conf_tls *tls);
