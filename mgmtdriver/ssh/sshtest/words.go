package sshtest

import (
	"fmt"
	"strings"
)

// Words splits a command line as a POSIX shell does. What a shell would do more with than to split it, such as a variable or a pipe outside of
// quotes, is an error: package ssh sends nothing of the kind.
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("sshtest: a quote is not closed in %q", line)
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
			inWord = true
		case '\\':
			if i++; i == len(line) {
				return nil, fmt.Errorf("sshtest: %q ends with a backslash", line)
			}
			word.WriteByte(line[i])
			inWord = true
		default:
			if strings.IndexByte("|&;<>()$`\"*?[#~!{}", c) >= 0 {
				return nil, fmt.Errorf("sshtest: %q is outside of quotes in %q", c, line)
			}
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
