/* Other installations of cuspan on this machine: from a package of the system, a tarball or a wheel. */
#pragma once

#include "agent/operate/doctor/doctor.h"

/* Adds a line for each libcuspan.so beside a `cuspan` in PATH or in a usual place, except this program's. */
void other_copies_report(struct doctor *doctor);
