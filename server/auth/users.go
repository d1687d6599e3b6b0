package auth

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
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
	nobody []byte // hash of a password that nobody has
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

// find returns a user, or one with a password that nobody has: who does not exist takes as long to be refused as one with another password.
// While the file cannot be read, nobody is a user.
func (u *users) find(name string) (user, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	info, err := os.Stat(u.path)
	if err != nil {
		return user{}, false, err
	}
	if u.read == nil || !info.ModTime().Equal(u.read.ModTime()) || info.Size() != u.read.Size() {
		content, err := os.ReadFile(u.path)
		if err != nil {
			return user{}, false, err
		}
		if u.byName, err = readUsers(content); err != nil {
			return user{}, false, fmt.Errorf("%s: %w", u.path, err)
		}
		if u.nobody, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), highest(u.byName)); err != nil {
			return user{}, false, err
		}
		u.read = info
	}
	found, ok := u.byName[name]
	if !ok {
		found.hash = u.nobody
	}
	return found, ok, nil
}

// highest is the cost of the hash that takes longest to check.
func highest(users map[string]user) int {
	cost := bcrypt.MinCost
	for _, of := range users {
		if own, err := bcrypt.Cost(of.hash); err == nil {
			cost = max(cost, own)
		}
	}
	return cost
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
			caller: access.Caller{User: fields[0], Project: fields[2], Roles: strings.FieldsFunc(fields[3], func(c rune) bool { return c == ',' || c == ' ' })},
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
	users    *users
	cache    cache
	checking chan struct{} // bounds the passwords that are checked at once: each takes a processor for a while
}

func newBasic(users *users) *basic {
	return &basic{users: users, checking: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

func (*basic) challenge() string { return `Basic realm="vnfm", charset="UTF-8"` }

func (b *basic) authenticate(request *http.Request) (*access.Caller, error) {
	name, password, ok := request.BasicAuth()
	if !ok {
		return nil, &Refused{"the request has no user and password"}
	}
	found, known, err := b.users.find(name)
	if err != nil {
		return nil, &Unavailable{"the file of users", err}
	}
	// That the password is right is remembered, and not what the user may do. The hash is part of it: a new password ends the old one at once.
	ctx := request.Context()
	for {
		_, err = b.cache.find(remembered(found, name, password), func() (*access.Caller, time.Time, error) {
			return b.check(ctx, found, known, password)
		})
		if !errors.Is(err, errNotChecked) || ctx.Err() != nil {
			break
		} // else it was checked for another request, too, which has gone
	}
	if err != nil {
		return nil, err
	}
	return &found.caller, nil
}

var errNotChecked = errors.New("it has ended before its turn came")

// check compares a password with that of a user, when its turn has come.
func (b *basic) check(ctx context.Context, found user, known bool, password string) (*access.Caller, time.Time, error) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, time.Time{}, &Unavailable{"the check of passwords", errNotChecked}
	}
	defer func() { <-b.checking }()
	if err := bcrypt.CompareHashAndPassword(found.hash, []byte(password)); err != nil || !known {
		return nil, time.Time{}, &Refused{"the user or the password is wrong"}
	}
	return &found.caller, time.Time{}, nil
}

// remembered is what credentials are remembered by.
func remembered(of user, name, password string) string {
	return string(of.hash) + "\x00" + name + "\x00" + password
}

func (b *basic) offered(request *http.Request) Credentials {
	name, password, ok := request.BasicAuth()
	if !ok {
		return NoCredentials
	}
	found, _, err := b.users.find(name)
	if err != nil {
		return NoCredentials // nobody can be admitted now
	}
	return b.cache.offered(remembered(found, name, password))
}

// certificates knows users by the common names of their certificates, which the connection has checked.
type certificates struct{ users *users }

func (*certificates) challenge() string { return "Mutual" }

// offered implements authenticator: nobody guesses a key.
func (*certificates) offered(*http.Request) Credentials { return NoCredentials }

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
