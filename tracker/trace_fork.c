/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_writer.h"

/* While a fork is under way all locks are held, so that the child inherits whole lists. */
static pthread_mutex_t writers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rp_trace_writer *writers;
static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&writers_lock);
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        pthread_mutex_lock(&w->lock);
}

static void after_fork_in_parent(void)
{
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        pthread_mutex_unlock(&w->lock);
    pthread_mutex_unlock(&writers_lock);
}

static void after_fork_in_child(void)
{
    for (struct rp_trace_writer *w = writers; w != NULL; w = w->older)
        atomic_store(&w->phase, RP_TRACE_FORKED);
    after_fork_in_parent();
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void rp_trace_enlist(struct rp_trace_writer *writer)
{
    pthread_once(&fork_handlers, watch_forks);
    pthread_mutex_lock(&writers_lock);
    writer->older = writers;
    writers = writer;
    pthread_mutex_unlock(&writers_lock);
}

void rp_trace_delist(struct rp_trace_writer *writer)
{
    pthread_mutex_lock(&writers_lock);
    struct rp_trace_writer **link = &writers;
    while (*link != NULL && *link != writer)
        link = &(*link)->older;
    if (*link != NULL)
        *link = writer->older;
    pthread_mutex_unlock(&writers_lock);
}
