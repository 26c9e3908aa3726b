#include "tests/scenarios/kinds.h"
const struct kind shape_kinds[] = {{0}};
