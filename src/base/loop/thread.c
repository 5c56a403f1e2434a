/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>

#include "base/loop/thread.h"

bool
thread_begin(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	bool begun = pthread_create(&thread, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (begun)
		pthread_detach(thread);
	return begun;
}
