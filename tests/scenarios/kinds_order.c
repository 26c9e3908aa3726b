#include "tests/scenarios/kinds.h"
const struct kind order_kinds[] = {{0}};
