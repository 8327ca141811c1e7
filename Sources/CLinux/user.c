#define _GNU_SOURCE
#include "CLinux.h"

const char *clinux_group_name(gid_t group) {
  FILE *file = fopen("/etc/group", "re");
  const struct group *entry = NULL;
  do {
    entry = file ? fgetgrent(file) : NULL;
  } while (entry && entry->gr_gid != group);
  if (file) fclose(file);
  return entry ? entry->gr_name : NULL;
}

const char *clinux_user_name(uid_t user, gid_t *group) {
  FILE *file = fopen("/etc/passwd", "re");
  const struct passwd *entry = NULL;
  do {
    entry = file ? fgetpwent(file) : NULL;
  } while (entry && entry->pw_uid != user);
  if (file) fclose(file);
  if (entry && group) *group = entry->pw_gid;
  return entry ? entry->pw_name : NULL;
}

enum { groups_max = 64 };

static int find_groups(const char *name, gid_t *groups) {
  int count = 0;
  FILE *file = name ? fopen("/etc/group", "re") : NULL;
  const struct group *entry;
  while (file && count < groups_max && (entry = fgetgrent(file)))
    for (char **member = entry->gr_mem; *member; member++)
      if (count < groups_max && strcmp(*member, name) == 0) groups[count++] = entry->gr_gid;
  if (file) fclose(file);
  return count;
}

static gid_t own_groups[groups_max];
static int own_group_count = -1;

int clinux_act_as(uid_t user, gid_t group) {
  gid_t groups[groups_max];
  int count = find_groups(clinux_user_name(user, &group), groups);
  own_group_count = getgroups(groups_max, own_groups);
  if (setgroups((size_t)count, groups) == 0 && setegid(group) == 0 && seteuid(user) == 0) return 0;
  int error = errno;
  clinux_stop_acting_as();
  return -error;
}

int clinux_become(uid_t user, gid_t group) {
  gid_t groups[groups_max];
  int count = find_groups(clinux_user_name(user, &group), groups);
  if (setgroups((size_t)count, groups) != 0) return -errno;
  if (setresgid(group, group, group) != 0) return -errno;
  return setresuid(user, user, user) == 0 ? 0 : -errno;
}

void clinux_stop_acting_as(void) {
  if (seteuid(getuid()) != 0 || setegid(getgid()) != 0) return;
  if (own_group_count >= 0) setgroups((size_t)own_group_count, own_groups);
}
