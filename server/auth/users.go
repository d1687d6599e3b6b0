package auth

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"vnfm/api/access"
)

// users are those of a file, which is read again when it has changed. Each line is NAME:HASH:PROJECT:ROLE,ROLE…; HASH is of bcrypt, as htpasswd -B
// makes it, and - if the user comes with a certificate only.
type users struct {
	path string

	mu     sync.Mutex
	read   os.FileInfo
	byName map[string]user
}

type user struct {
	hash   []byte
	caller access.Caller
}

func openUsers(path string) (*users, error) {
	u := &users{path: path}
	_, _, err := u.find("")
	return u, err
}

// find returns a user. While the file cannot be read, nobody is one.
func (u *users) find(name string) (user, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	info, err := os.Stat(u.path) //nolint:gosec // the operator's own choice
	if err != nil {
		return user{}, false, err
	}
	if u.read == nil || !info.ModTime().Equal(u.read.ModTime()) || info.Size() != u.read.Size() {
		content, err := os.ReadFile(u.path) //nolint:gosec // as above
		if err != nil {
			return user{}, false, err
		}
		if u.byName, err = readUsers(content); err != nil {
			return user{}, false, fmt.Errorf("%s: %w", u.path, err)
		}
		u.read = info
	}
	found, ok := u.byName[name]
	return found, ok, nil
}

func readUsers(content []byte) (map[string]user, error) {
	found := map[string]user{}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, ":")
		if len(fields) != 4 || fields[0] == "" || fields[3] == "" {
			return nil, fmt.Errorf("line %d is not NAME:HASH:PROJECT:ROLE,ROLE", number)
		}
		if _, err := bcrypt.Cost([]byte(fields[1])); err != nil && fields[1] != "-" {
			return nil, fmt.Errorf("line %d: the hash is not one of bcrypt", number)
		}
		if _, twice := found[fields[0]]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", number, fields[0])
		}
		found[fields[0]] = user{
			hash:   []byte(fields[1]),
			caller: access.Caller{User: fields[0], Project: fields[2], Roles: strings.Split(fields[3], ",")},
		}
	}
	return found, scanner.Err()
}

// Hash returns the hash of a password as the file of users has it.
func Hash(password string) (string, error) {
	if password == "" {
		return "", errors.New("the password is empty")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	return string(hash), err
}

// basic knows users by their passwords (RFC 7617).
type basic struct {
	users *users
	cache cache
}

func (*basic) challenge() string { return `Basic realm="vnfm", charset="UTF-8"` }

// nobody is the hash of a password that nobody has: one who does not exist takes as long to be refused as one with another password.
var nobody = sync.OnceValue(func() []byte {
	hash, err := bcrypt.GenerateFromPassword([]byte(rand.Text()), bcrypt.DefaultCost)
	if err != nil {
		panic(err) // its length and cost are right
	}
	return hash
})

func (b *basic) authenticate(request *http.Request) (*access.Caller, error) {
	name, password, ok := request.BasicAuth()
	if !ok {
		return nil, &Refused{"the request has no user and password"}
	}
	found, known, err := b.users.find(name)
	if err != nil {
		return nil, &Unavailable{"the file of users", err}
	}
	if !known {
		found.hash = nobody()
	}
	// The hash is part of what is remembered: a new password ends the old one at once.
	return b.cache.find(string(found.hash)+"\x00"+name+"\x00"+password, func() (*access.Caller, time.Time, error) {
		if err := bcrypt.CompareHashAndPassword(found.hash, []byte(password)); err != nil || !known {
			return nil, time.Time{}, &Refused{"the user or the password is wrong"}
		}
		return &found.caller, time.Time{}, nil
	})
}

// certificates knows users by the common names of their certificates, which the connection has checked.
type certificates struct{ users *users }

func (*certificates) challenge() string { return "Mutual" }

func (c *certificates) authenticate(request *http.Request) (*access.Caller, error) {
	if request.TLS == nil || len(request.TLS.VerifiedChains) == 0 {
		return nil, &Refused{"the client has shown no certificate"}
	}
	name := request.TLS.VerifiedChains[0][0].Subject.CommonName
	found, known, err := c.users.find(name)
	switch {
	case err != nil:
		return nil, &Unavailable{"the file of users", err}
	case !known:
		return nil, &Refused{fmt.Sprintf("the common name of the certificate, %q, is none of a user", name)}
	}
	return &found.caller, nil
}
