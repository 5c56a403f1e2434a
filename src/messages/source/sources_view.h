/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/inquiry.h"

/*
 * What the sources of one worker say to an inquiry.  It changes nothing but for
 * a message that is dropped.  The worker's thread.
 */
inquiry_visit sources_view;
