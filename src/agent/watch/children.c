#include "agent/watch/children.h"

#include "agent/watch/stacks/thread_facts.h"
#include "base/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void describe(struct child *child)
{
    char path[64], text[1024];
    struct thread_stack facts;
    snprintf(path, sizeof path, "/proc/%d/stat", child->pid);
    child->state = 0;
    if (files_read_small(path, text, sizeof text) <= 0 || !thread_facts_parse_stat(text, &facts))
        return;
    child->state = facts.state;
    memcpy(child->name, facts.name, sizeof child->name);
}

/* A place for a new child: a free one, or that of the child that ended first. NULL: all are there. */
static struct child *place_for(struct children *children)
{
    struct child *first = NULL;
    if (children->count < CHILDREN_MAX)
        return &children->list[children->count++];
    for (uint32_t i = 0; i < CHILDREN_MAX; i++) {
        struct child *child = &children->list[i];
        if (child->ended_ns && (!first || child->ended_ns < first->ended_ns))
            first = child;
    }
    return first;
}

static struct child *find(struct children *children, int32_t pid)
{
    for (uint32_t i = 0; i < children->count; i++)
        if (children->list[i].pid == pid && !children->list[i].ended_ns)
            return &children->list[i];
    return NULL;
}

void children_look(struct children *children, uint64_t now_ns)
{
    char path[64], text[4096];
    bool is_there[CHILDREN_MAX] = {false};
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (files_read_small(path, text, sizeof text) < 0)
        return;
    char *at = text, *rest;
    for (long pid; (pid = strtol(at, &rest, 10)) > 0 && rest != at; at = rest) {
        struct child *child = find(children, (int32_t)pid);
        if (!child && (child = place_for(children))) {
            *child = (struct child){.pid = (int32_t)pid};
            describe(child);
        }
        if (child)
            is_there[child - children->list] = true;
    }
    for (uint32_t i = 0; i < children->count; i++)
        if (!is_there[i] && !children->list[i].ended_ns)
            children->list[i].ended_ns = now_ns;
}

void children_describe(struct children *children)
{
    for (uint32_t i = 0; i < children->count; i++)
        if (!children->list[i].ended_ns)
            describe(&children->list[i]);
}
