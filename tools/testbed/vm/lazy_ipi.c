// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded to User-Mode Linux with CONFIG_SMP, which asks the host to block the signal
 * of its interprocessor interrupts each time that it disables interrupts: half of its
 * time, where lockdep does that for each lock. Here a signal that comes meanwhile is what
 * makes it blocked: it is sent again, to be taken when interrupts are enabled.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define FAST __attribute__((tls_model("initial-exec")))

static __thread volatile int masked FAST;	/* the kernel wants it to be blocked */
static __thread volatile int blocked FAST = 1;	/* it may be blocked */
static void (*handlers[NSIG])(int, siginfo_t *, void *);
static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

static unsigned long ipi_bit(void)
{
	return 1ul << (SIGRTMIN - 1);
}

static int real_mask(int how, const sigset_t *set, sigset_t *old)
{
	return syscall(SYS_rt_sigprocmask, how, set, old, 8);
}

/* When a handler returns, the host restores the mask of what it interrupted. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
	int was_masked = masked, was_blocked = blocked;

	handlers[signal](signal, info, context);
	masked = was_masked;
	blocked = was_blocked;
}

static void on_ipi(int signal, siginfo_t *info, void *context)
{
	if (!masked) {
		on_signal(signal, info, context);
		return;
	}
	blocked = 1;
	sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
	pthread_sigqueue(pthread_self(), signal, info->si_value);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	unsigned long bits = set ? *(const unsigned long *)set : 0, ipi = ipi_bit();

	if (handlers[SIGRTMIN] && !old && bits == ipi && how == SIG_BLOCK) {
		masked = 1;
		return 0;
	}
	if (handlers[SIGRTMIN] && !old && bits == ipi && how == SIG_UNBLOCK) {
		masked = 0;
		if (!blocked)
			return 0;
		blocked = 0;
		return real_mask(how, set, old);
	}
	/* Idle, the kernel polls for it: it must not be taken. */
	if (masked && !blocked) {
		blocked = 1;
		real_mask(SIG_BLOCK, (const sigset_t *)&ipi, NULL);
	}
	return real_mask(how, set, old);
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old)
{
	struct sigaction mine;

	if (!real_sigaction)
		real_sigaction = dlsym(RTLD_NEXT, "sigaction");
	if (!new || !(new->sa_flags & SA_SIGINFO))
		return real_sigaction(signal, new, old);
	mine = *new;
	handlers[signal] = new->sa_sigaction;
	mine.sa_sigaction = signal == SIGRTMIN ? on_ipi : on_signal;
	return real_sigaction(signal, &mine, old);
}
