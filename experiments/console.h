/* console.h -- what the person at the terminal sees and can do meanwhile: progress on standard error
 * (when it is a terminal and the run has lasted two seconds), and Ctrl-C.
 *
 * Threads: console_interrupted() from any; the rest from the control thread.
 */
#ifndef EXPERIMENTS_CONSOLE_H
#define EXPERIMENTS_CONSOLE_H

#include <stdbool.h>

/* From now on Ctrl-C is noted instead of ending the program; a second one ends it. */
void console_catch_interrupt(void);
bool console_interrupted(void);

void console_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_clear(void);

#endif
