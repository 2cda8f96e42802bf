/* The verbs of the control socket. To add one, add a row.
 *
 * describe: process and state, a line of `cuspan ps`. status: everything that is known. start, stop [MS],
 * flush [MS]: like cuspan_start(), cuspan_stop() and cuspan_flush(), with the maximum time. */
#pragma once

/* Gives them to the socket, before the agent starts. Any thread, any number of times. */
void control_verbs_serve(void);
