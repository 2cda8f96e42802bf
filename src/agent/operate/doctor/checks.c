#include "agent/operate/doctor/checks.h"

#define DOCTOR_ROW(group, name, needs, question)                                                             \
    {#group, #name, question, NEEDS_##needs, check_##group##_##name},
const struct doctor_check doctor_checks[] = {DOCTOR_CHECKS(DOCTOR_ROW)};
#undef DOCTOR_ROW

const size_t doctor_check_count = sizeof doctor_checks / sizeof *doctor_checks;
