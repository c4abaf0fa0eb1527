/* SPDX-License-Identifier: MIT */
#include "index/own.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/descriptor.h"
#include "base/sort.h"
#include "index/catalog.h"
#include "index/source.h"
#include "index/store/index_files.h"
#include "twinfs/format.h"

#define ROOT_STATE_FOLDER "/var/lib"
#define HOME_STATE_FOLDER "/.local/state"
#define INDEXES_FOLDER "/twinfs"

/* Levels of folders in the default folder: .promises and the folders in it. */
#define LEVELS 3

/* Number of hexadecimal digits of a quarantine name. */
#define QUARANTINE_DIGITS 16

/* Suffixes of a quarantine name whose file is not complete, and of one in an exchange of names.
 * Both have the same length. */
#define PART_SUFFIX ".part"
#define SWAP_SUFFIX ".swap"

enum {
	FOUND_OTHER = 1, /* outcome that ends the visit of a folder */
};

/* ---- the default folder ------------------------------------------------------------------ */

/* Gets the user's home folder: $HOME, or else that in the user database. The caller frees it. */
static int home_folder(char **home)
{
	/* NOLINTBEGIN(concurrency-mt-unsafe): called before threads are started */
	const char *path = getenv("HOME");

	if (!path || path[0] != '/') {
		const struct passwd *user = getpwuid(geteuid());

		path = user ? user->pw_dir : NULL;
	}
	/* NOLINTEND(concurrency-mt-unsafe) */
	if (!path || path[0] != '/')
		return -ENOENT;
	*home = strdup(path);
	return *home ? 0 : -ENOMEM;
}

/* The folder for the state of programs is that of the XDG Base Directory Specification 0.8, which
 * requires that relative paths are ignored. */
int own_state_folder(char **folder)
{
	AUTO_FREE char *home = NULL;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): called before threads are started */
	const char *state = geteuid() == 0 ? ROOT_STATE_FOLDER : getenv("XDG_STATE_HOME");
	int r;

	if (state && state[0] == '/')
		return asprintf(folder, "%s" INDEXES_FOLDER, state) < 0 ? -ENOMEM : 0;
	r = home_folder(&home);
	if (r < 0)
		return r;
	return asprintf(folder, "%s" HOME_STATE_FOLDER INDEXES_FOLDER, home) < 0 ? -ENOMEM : 0;
}

int own_open_state_folder(void)
{
	AUTO_FREE char *folder = NULL;
	int r = own_state_folder(&folder), fd;

	if (r < 0)
		return r;
	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool own_is_in_state(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int state = own_open_state_folder();
	struct stat at, wanted;

	if (fd < 0 || index_folder_is_live(fd))
		return fd >= 0;
	if (state < 0 || fstat(state, &wanted) < 0)
		return false;
	do {
		if (fstat(fd, &at) == 0 && is_same_inode(&at, &wanted))
			return true;
	} while (ascend(&fd) > 0);
	return false;
}

/* ---- inodes ------------------------------------------------------------------------------ */

static int compare_inodes(const void *left, const void *right)
{
	const struct own_inode *a = left, *b = right;
	int order = numbers_compare(a->inode, b->inode);

	order = order ? order : numbers_compare(a->filesystem, b->filesystem);
	order = order ? order : numbers_compare(a->type, b->type);
	order = order ? order : numbers_compare((uint64_t)a->born.tv_sec, (uint64_t)b->born.tv_sec);
	return order ? order
		     : numbers_compare((uint64_t)a->born.tv_nsec, (uint64_t)b->born.tv_nsec);
}

/* The path is left NULL. */
static struct own_inode inode_of(const struct attributes *attributes)
{
	return (struct own_inode){.filesystem = attributes->filesystem,
				  .type = attributes->mode & S_IFMT,
				  .inode = attributes->inode,
				  .born = attributes->btime};
}

static bool has_birth(const struct own_inode *inode)
{
	return inode->born.tv_sec != 0 || inode->born.tv_nsec != 0;
}

/* Adds an inode. Takes its path, also if it fails. */
static int add_inode(struct own *own, const struct attributes *attributes, char *path)
{
	struct own_inode inode = inode_of(attributes);
	int r = path ? array_reserve(&own->list, &own->capacity, own->count + 1, sizeof(inode))
		     : -ENOMEM;

	if (r < 0 || has_birth(&inode))
		free(path);
	else
		inode.path = path;
	if (r == 0)
		own->list[own->count++] = inode;
	return r;
}

/* A folder that is being added. */
struct own_adding {
	struct own *own;
	struct catalog *catalog;
	const char *path; /* absolute */
	unsigned int levels; /* of folders below it */
};

static int add_entry(void *context, int directory, const struct dirent *entry)
{
	const struct own_adding *adding = context;
	struct own_adding below = *adding;
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	struct attributes attributes;
	int r;

	/* a file can vanish meanwhile, and a symlink leads elsewhere */
	if (source_attributes_at(adding->catalog, directory, entry->d_name, 0, &attributes) < 0 ||
	    S_ISLNK(attributes.mode))
		return 0;
	if (asprintf(&path, "%s/%s", adding->path, entry->d_name) < 0)
		return -ENOMEM;
	r = add_inode(adding->own, &attributes, strdup(path));
	below.path = path;
	if (r < 0 || !S_ISDIR(attributes.mode) || --below.levels == 0)
		return r;
	fd = openat(directory, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && directory_visit(fd, add_entry, &below) == -ENOMEM ? -ENOMEM : 0;
}

int own_add(struct own *own, struct catalog *catalog, const char *folder)
{
	AUTO_FREE char *path = realpath(folder, NULL);
	AUTO_CLOSE int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	struct own_adding adding = {own, catalog, path, LEVELS};
	struct attributes attributes;
	int r;

	if (fd < 0 || source_attributes(catalog, fd, &attributes) < 0)
		return 0;
	r = add_inode(own, &attributes, strdup(path));
	if (r == 0)
		r = directory_visit(fd, add_entry, &adding);
	sort_unless_sorted(own->list, own->count, sizeof(*own->list), compare_inodes);
	return r == -ENOMEM ? r : 0;
}

int own_load(struct own *own, struct catalog *catalog)
{
	AUTO_FREE char *state = NULL;
	int r = own_state_folder(&state);

	*own = (struct own){.list = NULL};
	r = r == 0 ? own_add(own, catalog, state) : r == -ENOMEM ? r : 0;
	return r == 0 ? own_add(own, catalog, catalog_folder(catalog)) : r;
}

void own_free(struct own *own)
{
	for (size_t i = 0; i < own->count; i++)
		free(own->list[i].path);
	free(own->list);
	*own = (struct own){.list = NULL};
}

/* Returns whether the inode is still the one at its path. */
static bool is_at_path(const struct own_inode *inode)
{
	struct stat status;

	return lstat(inode->path, &status) == 0 && status.st_ino == inode->inode &&
	       (status.st_mode & S_IFMT) == inode->type;
}

bool own_has(const struct own *own, const struct attributes *attributes)
{
	const struct own_inode wanted = inode_of(attributes);
	const struct own_inode *found = own->count > 0 ? bsearch(&wanted, own->list, own->count,
								 sizeof(wanted), compare_inodes)
						       : NULL;

	return found && (!found->path || is_at_path(found));
}

bool own_has_directory(const struct own *own, struct catalog *catalog, int directory)
{
	struct attributes attributes;

	return index_folder_is_live(directory) ||
	       (source_attributes(catalog, directory, &attributes) == 0 &&
		own_has(own, &attributes));
}

bool own_is_file_name(const char *name, size_t length)
{
	return index_file_is_own(name, length);
}

bool own_is_mark(const char *name, size_t length)
{
	return length == strlen(TWINFS_OWN_MARK) && memcmp(name, TWINFS_OWN_MARK, length) == 0;
}

bool own_is_marked(int directory)
{
	return index_folder_is_live(directory);
}

/* ---- private names ----------------------------------------------------------------------- */

bool own_is_quarantine(const char *name, size_t length)
{
	size_t prefix = strlen(QUARANTINE_PREFIX), part = strlen(PART_SUFFIX);

	if (length > part && (memcmp(name + length - part, PART_SUFFIX, part) == 0 ||
			      memcmp(name + length - part, SWAP_SUFFIX, part) == 0))
		length -= part;
	return length == prefix + QUARANTINE_DIGITS &&
	       memcmp(name, QUARANTINE_PREFIX, prefix) == 0 &&
	       strspn(name + prefix, "0123456789abcdef") >= QUARANTINE_DIGITS;
}

static bool is_staging_name(const char *name, size_t length)
{
	size_t staging = strlen(STAGING_NAME);

	return length >= staging && memcmp(name, STAGING_NAME, staging) == 0 &&
	       (length == staging || name[staging] == '~');
}

/* Returns FOUND_OTHER for a name that no restore makes. */
static int find_other(void *context, int directory, const struct dirent *entry)
{
	static const char *const names[] = {STAGING_STATE, STAGING_NEW_STATE, STAGING_LINKS,
					    STAGING_FILE};

	(void)context;
	(void)directory;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(entry->d_name, names[i]) == 0)
			return 0;
	}
	return FOUND_OTHER;
}

/* A folder with a further name has files of the user. */
bool own_is_staging(int directory, const char *name, const char *path)
{
	AUTO_CLOSE int fd = -1;
	struct stat state, links;

	if (!is_staging_name(name, strlen(name)))
		return false;
	fd = openat(directory, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fstatat(fd, STAGING_STATE, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(state.st_mode) &&
	       fstatat(fd, STAGING_LINKS, &links, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(links.st_mode) && directory_visit(fd, find_other, NULL) != FOUND_OTHER;
}

bool own_is_private_path(const char *path)
{
	size_t length;

	for (; *path; path += length + (path[length] == '/')) {
		length = strcspn(path, "/");
		if (own_is_quarantine(path, length) || is_staging_name(path, length))
			return true;
	}
	return false;
}
