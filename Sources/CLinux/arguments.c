#define _GNU_SOURCE
#include "CLinux.h"

static int argument_count;
static char **arguments;

/* glibc passes main's arguments to every constructor. */
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

int clinux_argument_count(void) { return argument_count; }

char **clinux_arguments(void) { return arguments; }

int clinux_option(int count, char **arguments, const char *brief, const struct option *options, int *found) {
  opterr = 0;
  return getopt_long(count, arguments, brief, options, found);
}

const char *clinux_option_argument(void) { return optarg; }

int clinux_option_index(void) { return optind; }

int clinux_option_letter(void) { return optopt < 256 ? optopt : 0; }
