package vnfpkg

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// block is a group of "Key: value" lines of TOSCA.meta or a manifest (SOL004 4.1.2.2, 4.3.2).
type block struct {
	file   string
	line   int
	fields map[string]string // by key in lower case
}

func (b block) invalid(format string, args ...any) error {
	return &Invalid{File: b.file, Line: b.line, Reason: fmt.Sprintf(format, args...)}
}

// first returns the value of the first of the keys that is there.
func (b block) first(keys ...string) string {
	for _, key := range keys {
		if v, ok := b.fields[strings.ToLower(key)]; ok {
			return v
		}
	}
	return ""
}

const (
	cmsBegin = "-----BEGIN CMS-----"
	cmsEnd   = "-----END CMS-----"
)

// parseBlocks reads TOSCA.meta or a manifest. Blocks are separated by empty lines, and each Name or Source begins one. A CMS
// signature at the end is skipped.
func parseBlocks(file string, data []byte) ([]block, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, &Invalid{File: file, Reason: "not a text file in UTF-8"}
	}
	p := blockParser{file: file}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		if line == cmsBegin {
			if !strings.Contains(strings.Join(lines[i:], "\n"), cmsEnd) {
				return nil, &Invalid{File: file, Line: i + 1, Reason: "the signature has no end"}
			}
			break
		}
		if err := p.read(i+1, line); err != nil {
			return nil, err
		}
	}
	p.end()
	return p.blocks, nil
}

type blockParser struct {
	file   string
	blocks []block
	now    block
	last   string // the key that a continuation line belongs to
}

func (p *blockParser) end() {
	if len(p.now.fields) > 0 {
		p.blocks = append(p.blocks, p.now)
	}
	p.now, p.last = block{}, ""
}

func (p *blockParser) read(number int, line string) error {
	if line == "" {
		p.end()
		return nil
	}
	name, content, ok := strings.Cut(line, ":")
	key := strings.ToLower(strings.TrimSpace(name))
	// TOSCA 1.0 16.1: a line that begins with a space continues the one before. The metadata of manifests are indented too.
	if line[0] == ' ' && p.last != "" && (!ok || strings.Contains(key, " ")) {
		p.now.fields[p.last] += strings.TrimSpace(line)
		return nil
	}
	if !ok || key == "" {
		return &Invalid{File: p.file, Line: number, Reason: "neither \"Key: value\" nor an empty line"}
	}
	if key == "name" || key == "source" {
		if p.now.first("name", "source") != "" || p.isMetadata() {
			p.end()
		}
	}
	if p.now.fields == nil {
		p.now = block{p.file, number, map[string]string{}}
	}
	if _, twice := p.now.fields[key]; twice {
		return &Invalid{File: p.file, Line: number, Reason: fmt.Sprintf("the key %s is given twice", strings.TrimSpace(name))}
	}
	p.now.fields[key], p.last = strings.TrimSpace(content), key
	return nil
}

func (p *blockParser) isMetadata() bool {
	_, ok := p.now.fields["metadata"]
	return ok
}
