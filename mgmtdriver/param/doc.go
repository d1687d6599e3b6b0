// Package param reads the additionalParams of requests on behalf of management drivers: what is wrong is told once, with the JSON pointer of
// the attribute.
package param
