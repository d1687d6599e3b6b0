package registrytest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"vnfm/mgmtdriver/ssh/sshtest"
)

// Archive is what "docker save" writes for images of these names.
func Archive(names ...string) []byte {
	list, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": names, "Layers": []string{"layer/layer.tar"}}})
	if err != nil {
		panic(err) // texts can be marshalled
	}
	return Tar(map[string]string{"layer/layer.tar": strings.Repeat("layer", 1000), "config.json": "{}", "manifest.json": string(list)},
		"layer/layer.tar", "config.json", "manifest.json")
}

// Tar is an archive of files, in that order.
func Tar(files map[string]string, order ...string) []byte {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, name := range order {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = io.WriteString(w, files[name])
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return content.Bytes()
}

// load plays docker load. The lock is held.
func (m *machine) load(s *sshtest.Session) int {
	content := m.read(archivePath)
	if content == "" {
		return refuse(s, "open "+archivePath+": no such file or directory")
	}
	for archive := tar.NewReader(strings.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return refuse(s, "open manifest.json: no such file or directory")
		}
		if err != nil {
			return refuse(s, "Error processing tar file(exit status 1): "+err.Error())
		}
		if header.Name != "manifest.json" {
			continue
		}
		var list []struct{ RepoTags []string }
		if err := json.NewDecoder(archive).Decode(&list); err != nil {
			return refuse(s, err.Error())
		}
		m.seen.Loaded++
		for _, image := range list {
			for _, tag := range image.RepoTags {
				m.images[tag] = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
				_, _ = fmt.Fprintln(s.Stdout, "Loaded image: "+tag)
			}
		}
		return 0
	}
}
