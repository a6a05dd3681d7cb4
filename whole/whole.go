// Package whole replaces files so that whoever reads one finds the old or the new, whenever the process or the
// machine stops.
package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes data the content of a file with these permissions, whatever the umask. When it returns nil that is on
// disk; when it fails, the file is as it was, but for a disk that fails as the directory is written. Errors name files.
func Replace(path string, mode fs.FileMode, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
