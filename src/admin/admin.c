/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "admin/admin_request.h"
#include "base/mem.h"

static const struct machine_step steps[] = {
#define ADMIN_STEP(name, function, operation) {#name, function},
#include "tbl/admin_steps.h"
};

static const struct op *
asked_awaited(const struct machine *machine)
{
	const struct asked *a = (const struct asked *)machine;
	switch ((enum admin_step)machine->step) {
#define ADMIN_STEP(name, function, operation)                                 \
	case ADMIN_##name:                                                     \
		return operation;
#include "tbl/admin_steps.h"
	case ADMIN_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void asked_free(struct machine *machine);

static const struct machine_kind asked_kind = {
    "admin", steps, asked_awaited, asked_free};

static void
on_arrived(void *arg, struct exchange *x)
{
	struct admin *admin = arg;
	struct asked *a = mem_zero(sizeof *a);
	machine_init(&a->machine, &asked_kind, &admin->machines);
	a->admin = admin;
	a->conf = conf_ref(admin->now);
	a->x = x;
	a->arena = a->look.arena = a->list.arena = x->arena;
	op_init(&x->op, admin->loop, machine_run, a);
	op_init(&a->look.op.op, admin->loop, machine_run, a);
	op_init(&a->list.op.op, admin->loop, machine_run, a);
	op_init(&a->count.op.op, admin->loop, machine_run, a);
	machine_run(&a->machine);
}

static void
asked_free(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	op_cancel(&a->look.op.op);
	op_cancel(&a->list.op.op);
	op_cancel(&a->count.op.op);
	answer_unref(&a->look.op.answer);
	answer_unref(&a->given);
	answer_unref(&a->answer);
	json_decref(a->in);
	conf_unref(&a->conf);
	exchange_end(&a->x);
	free(a);
}

struct admin *
admin_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct store_health *health, int fd, const struct admin_view *view)
{
	struct admin *admin = mem_zero(sizeof *admin);
	admin->loop = loop;
	admin->conf = conf_ref(conf);
	admin->now = conf_ref(conf);
	admin->loaded_ms = view->started_ms;
	admin->budget = budget;
	admin->view = *view;
	admin->store = store_new(loop, conf, budget, health);
	store_measure(admin->store, admin->store_took);
	admin->front = front_new(loop, conf, budget, on_arrived, admin);
	front_listen(admin->front, fd, FRONT_PLAIN);
	return admin;
}

void
admin_reload(struct admin *admin, const struct conf *conf)
{
	const struct conf *old = admin->now;
	admin->now = conf_ref(conf);
	admin->loaded_ms = clock_wall_ms();
	front_reload(admin->front, conf);
	conf_unref(&old);
}

void
admin_drain(struct admin *admin)
{
	admin->draining = true;
}

void
admin_free(struct admin **admin)
{
	struct admin *a = *admin;
	*admin = NULL;
	if (a == NULL)
		return;
	for (unsigned step = 0; step < ADMIN_STEPS_; step++)
		while (a->machines.steps[step] != NULL)
			machine_end(a->machines.steps[step]);
	front_free(&a->front);
	store_free(&a->store);
	conf_unref(&a->now);
	conf_unref(&a->conf);
	free(a);
}
