/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "conf/conf.h"

/*
 * A whole answer's meaning for the record of its key: the upstream's own word,
 * said, the value of its Idempotency-Outcome (empty: it sent none), or else the
 * meaning of its status (enum status_class).  A word that is none of store,
 * release, forget and unknown counts as none.  Pure; any thread.
 */
enum status_class status_class_said(struct span said, uint8_t meaning);
