// Package peer makes HTTP clients towards those with whom the interfaces of ETSI NFV-SOL 003 are spoken: NFVOs, consumers of
// notifications, servers that have packages.
//
//	client := policy.Client(tlsConfig, 10*time.Second)         // where the address comes from outside
//	login := peer.OAuth2(peer.ClientCredentials{...}, client)  // or peer.Basic(...), peer.Anonymous
//	response, err := peer.Do(client, login, request)
package peer
