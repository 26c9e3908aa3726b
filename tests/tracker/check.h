/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers that it wants before it. */
#ifndef RP_TESTS_TRACKER_CHECK_H
#define RP_TESTS_TRACKER_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
