package mgmtdriver

import (
	"fmt"
	"strings"
)

// Invalid says that a request cannot be carried out as it is; the client gets 400 with the attribute.
type Invalid struct {
	Attribute string // JSON pointer into the request, such as /additionalParams/size; "" if the request as a whole is meant
	Detail    string
}

func (e *Invalid) Error() string {
	if e.Attribute == "" {
		return e.Detail
	}
	return e.Attribute + ": " + e.Detail
}

// Failure says that a step cannot succeed by being repeated unchanged: the operation comes to FAILED_TEMP with these words.
type Failure struct {
	Title  string // "" = "Management driver failed"
	Status int    // an HTTP status code; 0 = 500
	Detail string
}

func (e *Failure) Error() string { return e.Detail }

// Unavailable says that something, such as a VM that still boots, does not answer now. The step is repeated as long as the server has
// patience with a VIM.
type Unavailable struct {
	Peer string // what was called, such as "VM 10.10.0.5"
	Err  error
}

func (e *Unavailable) Error() string { return fmt.Sprintf("%s cannot be reached: %v", e.Peer, e.Err) }

func (e *Unavailable) Unwrap() error { return e.Err }

// Unknown says that a VNFD names a driver that this server does not have.
type Unknown struct {
	Name  string
	Known []string
}

func (e *Unknown) Error() string {
	return fmt.Sprintf("the driver %q specified in the VNFD is not one that this server has; known are %s", e.Name, strings.Join(e.Known, ", "))
}
