/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * What an operator sees of sources.  This gateway's own are asked, each in its
 * worker's thread; what is read elsewhere, others know.  Main thread.
 */
struct admin_request;

/* GET /sources. */
enum after admin_sources_list(struct admin_request *a);

/* The steps SURVEY and SURVEYED. */
enum after admin_sources_survey(struct machine *machine);
enum after admin_sources_surveyed(struct machine *machine);
