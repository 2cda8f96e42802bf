/* Bytes that a client may send to the agent's socket, in two pieces: a line is accepted whole or not at all,
 * and each gets an answer whose only line break is at its end. */
// SOURCES: src/agent/core/resource/self_env.c
#include "agent/core/control/control_socket.c"

#include "fuzz.h"

static const char *argument_at; /* the verb's argument, in the line */

static void echo(FILE *to, const char *argument)
{
    argument_at = argument;
    fprintf(to, "{\"bytes\":%zu}", strlen(argument));
}

static const struct control_verb verbs[] = {{"status", echo}, {"stop", echo}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char line[CONTROL_REQUEST_BYTES];
    int ends[2];
    size_t first = size ? data[0] % size : 0;
    control.verbs = verbs;
    control.verb_count = sizeof verbs / sizeof *verbs;
    if (size > 16384 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    (void)!send(ends[1], data, first, MSG_NOSIGNAL);
    (void)!send(ends[1], data + first, size - first, MSG_NOSIGNAL);
    shutdown(ends[1], SHUT_WR);
    control.client = guarded_fd_of(ends[0]);
    argument_at = NULL;
    if (may_ask(&control.client) && read_line(&control.client, line)) {
        const uint8_t *end = memchr(data, '\n', size);
        require(end && end < data + CONTROL_REQUEST_BYTES, "a line was taken that is none");
        size_t length = make_answer(line);
        require(length > 1 && length <= sizeof control.answer, "no answer, or too long a one");
        require(control.answer[length - 1] == '\n' && !memchr(control.answer, '\n', length - 1),
                "the answer is not one line");
        require(!argument_at || !*argument_at || (argument_at >= line && argument_at < line + sizeof line),
                "the argument lies outside of the line");
    }
    guarded_fd_close(&control.client);
    close(ends[1]);
    return 0;
}
