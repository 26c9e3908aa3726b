/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a report, cut where its data goes. Made of page.html, page.css and page.js. */
#ifndef RP_TOOLS_REPORT_PAGE_H
#define RP_TOOLS_REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char rp_page_before[], rp_page_after[];
extern const size_t rp_page_before_bytes, rp_page_after_bytes;

#endif
