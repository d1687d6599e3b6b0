package kube

import (
	"regexp"
	"strings"

	"vnfm/mgmtdriver/ssh"
)

var (
	joinToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	// A key has a line to itself, maybe quoted by Ansible, or stands behind its name, whose line Ansible may write as \n.
	certificateKey = regexp.MustCompile(`^[\s"]*([0-9a-f]{64})[\s",]*$|certificate[ _-]key["'\\]*[:=\s](?:\\n|["'\\\s])*([0-9a-f]{64})\b`)
)

// JoinToken is the first token that a text holds for nodes that join; "" if there is none.
func JoinToken(text string) string { return joinToken.FindString(text) }

// CertificateKey is the key that a line holds to the certificates of the control plane; "" if there is none.
func CertificateKey(line string) string {
	if key := certificateKey.FindStringSubmatch(line); key != nil {
		return key[1] + key[2]
	}
	return ""
}

// LearnSecrets makes known what a job has told of how to join, so that nobody reads it in logs and errors.
func LearnSecrets(known *ssh.Redactor, progress ssh.Progress) {
	for _, output := range []string{progress.Stdout, progress.Stderr} {
		for _, token := range joinToken.FindAllString(output, -1) {
			known.Add(ssh.Secret(token))
		}
		for line := range strings.Lines(output) {
			if key := CertificateKey(line); key != "" {
				known.Add(ssh.Secret(key))
			}
		}
	}
}
