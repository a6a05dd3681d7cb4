// Package store puts files into a tree of directories so that each is whole or absent,
// whatever happens meanwhile, and none is ever outside the tree.
//
// A file is written without a name and gets its name when it is complete: O_TMPFILE and
// linkat, which on ext4 is half as fast again as a temporary file and rename, leaves nothing
// behind when the process is killed, and never replaces what is there. Where a file
// system has no O_TMPFILE, a temporary file in a directory of the mirror's own is renamed.
//
// Every directory is opened from the one above it, never through a symbolic link, and
// files are named relative to their open directory. So a link that somebody plants in
// the tree is an error, not a way out.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Own is the directory at the root of the tree that holds what the mirror needs for itself.
const Own = ".headway-mirror"

// Tree is a directory that files are put into, by many goroutines at a time.
type Tree struct {
	root int
	own  int
	tmp  int
	name string

	// Folds says that the file system takes names for the same that differ in case only.
	Folds bool
	// unnamed says that there are files without names; how is how they get one.
	unnamed bool
	procfs  bool
	next    atomic.Int64 // number of a temporary file

	mu    sync.Mutex
	dirs  map[string]*Dir
	clock int64
	most  int
}

// Dir is a directory of the tree. Release it when done.
type Dir struct {
	fd    int
	path  string
	Fresh bool // made by this Tree: what it does not know of is not there
	users int
	used  int64
}

// Open makes ready to put files into a directory, which is made if it is not there, and
// removes what an earlier process left unfinished. It keeps at most dirs directories open.
func Open(name string, dirs int) (_ *Tree, err error) {
	if err := os.MkdirAll(name, 0o777); err != nil {
		return nil, err
	}
	t := &Tree{root: -1, own: -1, tmp: -1, name: name, dirs: map[string]*Dir{}, most: max(dirs, 1)}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	// The directory itself may be a link: it is the user who says so.
	if t.root, err = open(unix.AT_FDCWD, name, unix.O_DIRECTORY|unix.O_RDONLY, 0); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if t.own, _, err = t.step(t.root, Own); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: path.Join(name, Own), Err: err}
	}
	if t.tmp, _, err = t.step(t.own, "unfinished"); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: path.Join(name, Own, "unfinished"), Err: err}
	}
	return t, nil
}

// Prepare removes what an earlier process left unfinished and finds out what the file system
// can do. Call it once it is certain that no other process uses the tree.
func (t *Tree) Prepare() error {
	if err := t.sweep(); err != nil {
		return err
	}
	return t.Probe()
}

// Root returns a descriptor of the tree's root, Own one of the mirror's own directory.
func (t *Tree) Root() int { return t.root }
func (t *Tree) Own() int  { return t.own }

func open(at int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// step opens a directory of a directory, and makes it if need be.
func (t *Tree) step(at int, name string) (fd int, made bool, err error) {
	const flags = unix.O_DIRECTORY | unix.O_RDONLY | unix.O_NOFOLLOW
	fd, err = open(at, name, flags, 0)
	if err == unix.ENOENT {
		err = unix.Mkdirat(at, name, 0o777)
		made = err == nil
		if err == nil || err == unix.EEXIST {
			fd, err = open(at, name, flags, 0)
		}
	}
	if err == unix.ELOOP || err == unix.ENOTDIR {
		err = fmt.Errorf("%q is not a directory, or a symbolic link, which is not followed: %w", name, err)
	}
	return fd, made, err
}

// sweep removes temporary files.
func (t *Tree) sweep() error {
	fd, err := unix.Dup(t.tmp)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "unfinished")
	defer f.Close()
	for {
		names, err := f.Readdirnames(1000)
		for _, n := range names {
			if err := unix.Unlinkat(t.tmp, n, 0); err != nil && err != unix.ENOENT {
				return fmt.Errorf("removing what an earlier run left unfinished: %w", err)
			}
		}
		if len(names) == 0 || err != nil {
			return nil
		}
	}
}

// Probe finds out what the file system can do, and that it can be written.
func (t *Tree) Probe() error {
	fd, err := open(t.tmp, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o666)
	if err == nil {
		err = unix.Linkat(fd, "", t.tmp, "Probe", unix.AT_EMPTY_PATH)
		if err != nil {
			// Before Linux 6.10 this was for root alone.
			t.procfs = true
			err = unix.Linkat(unix.AT_FDCWD, descriptor(fd), t.tmp, "Probe", unix.AT_SYMLINK_FOLLOW)
		}
		unix.Close(fd)
		t.unnamed = err == nil
	}
	if err != nil {
		fd, e := open(t.tmp, "Probe", unix.O_CREAT|unix.O_WRONLY, 0o666)
		if e != nil {
			return fmt.Errorf("nothing can be written in %s: %w", t.name, e)
		}
		unix.Close(fd)
	}
	var st unix.Stat_t
	t.Folds = unix.Fstatat(t.tmp, "probe", &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	return unix.Unlinkat(t.tmp, "Probe", 0)
}

func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Dir opens the directory of that path, relative to the root, "" for the root itself, and
// makes what is missing. Every component has to be a safe name.
func (t *Tree) Dir(name string) (*Dir, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dir(name)
}

func (t *Tree) dir(name string) (*Dir, error) {
	t.clock++
	if d := t.dirs[name]; d != nil {
		d.users++
		d.used = t.clock
		return d, nil
	}
	at, base := t.root, name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		above, err := t.dir(name[:i])
		if err != nil {
			return nil, err
		}
		defer func() { above.users-- }()
		at, base = above.fd, name[i+1:]
	}
	if len(t.dirs) >= t.most {
		t.evict()
	}
	d := &Dir{path: strings.Clone(name), users: 1, used: t.clock}
	var err error
	switch base {
	case "":
		if name != "" {
			return nil, fmt.Errorf("%q is no path", name)
		}
		d.fd, err = unix.FcntlInt(uintptr(t.root), unix.F_DUPFD_CLOEXEC, 0)
	case ".", "..":
		return nil, fmt.Errorf("%q leads to another place", name)
	default:
		d.fd, d.Fresh, err = t.step(at, base)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "directory", Path: name, Err: err}
	}
	t.dirs[d.path] = d
	return d, nil
}

// evict closes the half of the directories that has not been used for longest.
func (t *Tree) evict() {
	limit := t.clock - int64(t.most)/2
	for name, d := range t.dirs {
		if d.users == 0 && (d.used <= limit || t.most < 8) {
			unix.Close(d.fd)
			delete(t.dirs, name)
		}
	}
}

// Release ends the use of a directory.
func (t *Tree) Release(d *Dir) {
	t.mu.Lock()
	d.users--
	t.mu.Unlock()
}

// Info is what a tree knows of a file without reading it.
type Info struct {
	Size int64
}

// Lookup says whether there is a file of that name. What is there and no regular
// file is an error.
func (t *Tree) Lookup(d *Dir, name string) (Info, bool, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == unix.ENOENT:
		return Info{}, false, nil
	case err != nil:
		return Info{}, false, &fs.PathError{Op: "stat", Path: path.Join(d.path, name), Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return Info{}, true, &fs.PathError{Op: "stat", Path: path.Join(d.path, name), Err: errors.New("it is there and no regular file")}
	}
	return Info{st.Size}, true, nil
}

// File is one that is being written and has no name yet. It is for one goroutine.
type File struct {
	t    *Tree
	fd   int
	temp string // its name among the unfinished ones, if it has to have one
}

// Create begins a file that will stand in d.
func (t *Tree) Create(d *Dir) (File, error) {
	if t.unnamed {
		fd, err := open(d.fd, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o666)
		if err != unix.EOPNOTSUPP && err != unix.EISDIR && err != unix.EINVAL {
			return File{t: t, fd: fd}, err
		}
	}
	return t.createNamed()
}

// Scratch begins a file that will never have a name.
func (t *Tree) Scratch() (File, error) {
	if t.unnamed {
		fd, err := open(t.tmp, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o666)
		return File{t: t, fd: fd}, err
	}
	return t.createNamed()
}

// CreateToReplace begins a file that may take the place of another.
func (t *Tree) CreateToReplace() (File, error) { return t.createNamed() }

func (t *Tree) createNamed() (File, error) {
	name := strconv.FormatInt(t.next.Add(1), 36)
	fd, err := open(t.tmp, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o666)
	return File{t: t, fd: fd, temp: name}, err
}

// Write appends.
func (f *File) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n, err := unix.Write(f.fd, p)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return total, err
		}
		total += n
		p = p[n:]
	}
	return total, nil
}

// Abandon drops the file.
func (f *File) Abandon() {
	if f.fd >= 0 {
		unix.Close(f.fd)
		f.fd = -1
	}
	if f.temp != "" {
		unix.Unlinkat(f.t.tmp, f.temp, 0)
	}
}

// ErrExists says that the name is taken.
var ErrExists = fs.ErrExist

// Name gives the file its name and closes it; it replaces nothing: the error is ErrExists
// where the name is taken. Whatever comes, the File is done with.
func (f *File) Name(d *Dir, name string) error {
	if f.temp == "" {
		var err error
		if f.t.procfs {
			err = unix.Linkat(unix.AT_FDCWD, descriptor(f.fd), d.fd, name, unix.AT_SYMLINK_FOLLOW)
		} else {
			err = unix.Linkat(f.fd, "", d.fd, name, unix.AT_EMPTY_PATH)
		}
		if e := unix.Close(f.fd); err == nil {
			err = e
		}
		f.fd = -1
		return err
	}
	if err := f.close(); err != nil {
		f.Abandon()
		return err
	}
	err := unix.Renameat2(f.t.tmp, f.temp, d.fd, name, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		// The file system does not know the flag. A hard link does not replace either.
		if err = unix.Linkat(f.t.tmp, f.temp, d.fd, name, 0); err == nil {
			err = unix.Unlinkat(f.t.tmp, f.temp, 0)
		}
	}
	if err != nil {
		f.Abandon()
	}
	return err
}

// Replace gives the file its name, in place of one that may have it.
func (f *File) Replace(d *Dir, name string) error {
	if f.temp == "" {
		return errors.New("store: the file was not created to replace another")
	}
	err := f.close()
	if err == nil {
		err = unix.Renameat(f.t.tmp, f.temp, d.fd, name)
	}
	if err != nil {
		f.Abandon()
	}
	return err
}

// close tells what some network file systems say only then: that the disk is full.
func (f *File) close() error {
	fd := f.fd
	f.fd = -1
	return unix.Close(fd)
}

// Sync waits until all that was written to the file system can outlive a power cut: data, names and
// directories.
func (t *Tree) Sync() error {
	if err := unix.Syncfs(t.root); err != nil {
		return fmt.Errorf("syncing the file system of %s: %w", t.name, err)
	}
	return nil
}

// Close closes the directories.
func (t *Tree) Close() error {
	for _, fd := range []int{t.tmp, t.own, t.root} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.dirs {
		unix.Close(d.fd)
	}
	clear(t.dirs)
	t.root, t.own, t.tmp = -1, -1, -1
	return nil
}
