/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/log.h"
#include "base/must.h"
#include "base/test_build.h"
#include "gate/machine.h"

void
machine_init(struct machine *machine, const struct machine_kind *kind,
    struct machines *all)
{
	*machine = (struct machine){.kind = kind, .all = all};
	all->count++;
	list_add_first(&all->list, &machine->item);
}

void
machine_name(struct machine *machine, struct span id)
{
	size_t len = id.len < sizeof machine->id ? id.len
						 : sizeof machine->id - 1;
	memcpy(machine->id, id.ptr, len);
	machine->id[len] = '\0';
}

/* It is seldom wanted, and inline it would cost each step. */
static __attribute__((cold)) void
log_step(const struct machine *machine)
{
	struct logline line = log_begin(EV_step);
	log_str(&line, "machine", machine->kind->name);
	log_str(&line, "step", machine->kind->steps[machine->step].name);
	log_str(&line, "id", machine->id);
	log_end(&line);
}

void
machine_to(struct machine *machine, unsigned step)
{
	must(step <= UINT8_MAX);
	machine->step = (uint8_t)step;
	if (log_wants(EV_step))
		log_step(machine);
}

void
machine_end(struct machine *machine)
{
	list_remove(&machine->item);
	machine->all->count--;
	machine->kind->free(machine);
}

void
machine_run(void *arg)
{
	struct machine *machine = arg;
	struct op *op = machine->kind->awaited(machine);
	must(op == NULL || op->state == OP_DONE);
	for (;;) {
		unsigned step = machine->step;
		FAULT_POINT(
		    machine->kind->name, machine->kind->steps[step].name);
		switch (machine->kind->steps[step].run(machine)) {
		case MORE:
			/* No operation may be skipped, no step repeated. */
			must(machine->step != step);
			must(!machine->kind->steps[machine->step].waits);
			break;
		case WAIT:
			op = machine->kind->awaited(machine);
			must(op != NULL && op->state != OP_IDLE);
			if (op->state != OP_DONE || !machine->kind->runs_on)
				return;
			task_cancel(&op->task);
			break;
		case DONE:
			machine_end(machine);
			return;
		}
	}
}
