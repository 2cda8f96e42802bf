#include "command/table/table_text.h"

void overview_print(FILE *out)
{
    fputs("cuspan: CUDA calls and GPU work as OpenTelemetry spans\n"
          "\n"
          "usage: cuspan COMMAND [OPTION...]\n"
          "\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\ncuspan help COMMAND explains a command; cuspan help settings lists all settings.\n", out);
}
