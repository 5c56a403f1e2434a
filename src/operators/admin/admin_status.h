/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * How the gateway is: its health, its status and its metrics, read from the
 * workers while they run.  Main thread.
 */
struct admin_request;

/* GET /healthz: the main thread answers. */
enum after admin_status_health(struct admin_request *a);
/* GET /readyz: it takes new claims. */
enum after admin_status_ready(struct admin_request *a);
/* GET /status. */
enum after admin_status(struct admin_request *a);
/* GET /configuration: what keys that exist depend on. */
enum after admin_status_configuration(struct admin_request *a);
/* GET /metrics. */
enum after admin_status_metrics(struct admin_request *a);

/* The steps PROBE and PROBED: does Redis answer? */
enum after admin_status_probe(struct machine *machine);
enum after admin_status_probed(struct machine *machine);
/* The steps COUNT and COUNTED: how many records are in which state? */
enum after admin_status_count(struct machine *machine);
enum after admin_status_counted(struct machine *machine);
