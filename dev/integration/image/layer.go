package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user and the group of the image, by number: Kubernetes cannot see that a
// name is not root's.
const user = "65532"

// A file is one of the image, owned by root.
type file struct {
	name string // without a slash in front
	mode int64
	text []byte
}

// base are the files that all platforms have.
func base() []file {
	return []file{
		{name: "etc/group", mode: 0o644, text: []byte("root:x:0:\nquorate:x:" + user + ":\n")},
		{name: "etc/passwd", mode: 0o644, text: []byte("root:x:0:0:root:/:/nologin\nquorate:x:" + user + ":" + user + ":quorate:/:/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: roots()},
	}
}

// roots are the CA roots that Mozilla trusts without constraints: a file cannot say those.
func roots() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return text.Bytes()
}

// layerOf makes a layer of files, all of the same date, with their folders.
func layerOf(list []file, date time.Time) (v1.Layer, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	made := map[string]bool{".": true}
	for _, f := range list {
		for _, dir := range missing(made, path.Dir(f.name)) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: date}); err != nil {
				return nil, err
			}
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: date}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// missing are the folders down to dir that are not made yet, which it notes.
func missing(made map[string]bool, dir string) []string {
	if made[dir] {
		return nil
	}
	list := append(missing(made, path.Dir(dir)), dir)
	made[dir] = true
	return list
}
