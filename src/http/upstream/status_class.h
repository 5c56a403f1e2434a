/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "conf/conf.h"

/*
 * What a whole answer means for the record of its key.  It knows nothing of
 * connections or records.  Pure; any thread.
 */

/*
 * The upstream's own word, the value of its Idempotency-Outcome (empty: it sent
 * none), or else what the status means (enum status_class).  A word that is
 * none of store, release and unknown counts as none.
 */
enum status_class status_class_said(struct span said, uint8_t meaning);
