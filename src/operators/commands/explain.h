/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Explains a configuration on standard output, for `check --explain`: what each
 * route will do, and all settings after their defaults.  Secrets are hidden.
 * Main thread.
 */
void explain_text(const struct conf *conf);
