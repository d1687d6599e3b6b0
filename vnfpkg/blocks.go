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
	lines  map[string]int    // of the fields
}

func (b block) invalid(format string, args ...any) error {
	return &Invalid{File: b.file, Line: b.line, Reason: fmt.Sprintf(format, args...)}
}

// invalidField says that something is wrong with the first of the keys that is there.
func (b block) invalidField(keys []string, format string, args ...any) error {
	for _, key := range keys {
		if line, ok := b.lines[strings.ToLower(key)]; ok {
			b.line = line
			break
		}
	}
	return b.invalid(format, args...)
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

// cutSignature separates a CMS signature at the end of a manifest from what is before it (SOL004 4.3.2). line is where it begins, 0 if
// there is none.
func cutSignature(file string, data []byte) (content, cms []byte, line int, err error) {
	offset := 0
	for number, text := range strings.SplitAfter(string(data), "\n") {
		if strings.TrimRight(text, " \t\r\n") == cmsBegin {
			line = number + 1
			break
		}
		offset += len(text)
	}
	if line == 0 {
		return data, nil, 0, nil
	}
	_, after, ok := strings.Cut(string(data[offset:]), cmsEnd)
	if !ok {
		return nil, nil, 0, &Invalid{File: file, Line: line, Reason: "the signature has no end"}
	}
	if strings.TrimSpace(after) != "" {
		return nil, nil, 0, &Invalid{File: file, Line: line, Reason: "something follows the signature"}
	}
	return data[:offset], data[offset:], line, nil
}

// parseBlocks reads TOSCA.meta or a manifest without its signature. Blocks are separated by empty lines, and each Name or Source begins
// one.
func parseBlocks(file string, data []byte) ([]block, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, &Invalid{File: file, Reason: "not a text file in UTF-8"}
	}
	p := blockParser{file: file}
	for i, line := range strings.Split(text, "\n") {
		if err := p.read(i+1, strings.TrimRight(line, " \t\r")); err != nil {
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
		p.now = block{file: p.file, line: number, fields: map[string]string{}, lines: map[string]int{}}
	}
	if _, twice := p.now.fields[key]; twice {
		return &Invalid{File: p.file, Line: number, Reason: fmt.Sprintf("the key %s is given twice", strings.TrimSpace(name))}
	}
	p.now.fields[key], p.now.lines[key], p.last = strings.TrimSpace(content), number, key
	return nil
}

func (p *blockParser) isMetadata() bool {
	_, ok := p.now.fields["metadata"]
	return ok
}
