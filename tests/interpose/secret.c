/* SPDX-License-Identifier: Apache-2.0 */
__attribute__((visibility("default"))) int secret_value(void);
int secret_value(void)
{
    return 42;
}
