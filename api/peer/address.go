package peer

import (
	"errors"
	"net/url"
)

// Address parses the address of something at a peer. What is wrong with it is said without repeating it, since it may hold a secret.
func Address(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil, parsed.Scheme != "http" && parsed.Scheme != "https", parsed.Hostname() == "":
		return nil, errors.New("must be an http or https URI with a host")
	case parsed.User != nil:
		return nil, errors.New("must not have a user name: credentials are given apart from it")
	case parsed.Fragment != "":
		return nil, errors.New("must not have a fragment")
	}
	return parsed, nil
}
