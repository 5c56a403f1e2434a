/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "gate/machine.h"

/*
 * What an operator sees of sources.  This gateway's own are asked, each in its
 * worker's thread; what is read elsewhere, others know.  Main thread.
 */
struct admin_request;

/* GET /sources. */
enum after admin_sources_list(struct admin_request *a);
/* POST /sources/{name}/pause and /resume: of all gateways. */
enum after admin_sources_pause(struct admin_request *a);
enum after admin_sources_resume(struct admin_request *a);

/*
 * The sentence for where no source has the name, with the one that may be
 * meant; in the request's arena.
 */
struct span admin_sources_absent(
    const struct admin_request *a, struct span name);

/* The steps SURVEY and SURVEYED. */
enum after admin_sources_survey(struct machine *machine);
enum after admin_sources_surveyed(struct machine *machine);
/* The steps ORDER and ORDERED. */
enum after admin_sources_order(struct machine *machine);
enum after admin_sources_ordered(struct machine *machine);
