package peer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"vnfm/api/peer"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// get asks for an address and returns why there is no answer.
func get(t *testing.T, policy peer.Policy, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := policy.Client(&tls.Config{MinVersion: tls.VersionTLS12}, 5*time.Second).Do(request)
	if err == nil {
		response.Body.Close()
	}
	return err
}

func TestDeniedAddressesAreNotCalled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy peer.Policy
		host   string
	}{
		"metadata service":                 {peer.Policy{}, "169.254.169.254"},
		"the same, written as IPv6":        {peer.Policy{}, "[::ffff:169.254.169.254]"},
		"the same, through NAT64":          {peer.Policy{}, "[64:ff9b::a9fe:a9fe]"},
		"the same, through 6to4":           {peer.Policy{}, "[2002:a9fe:a9fe::1]"},
		"through a network's own NAT64":    {peer.Policy{}, "[64:ff9b:1::a9fe:a9fe]"},
		"metadata service of IPv6":         {peer.Policy{}, "[fd00:ec2::254]"},
		"link-local":                       {peer.Policy{}, "[fe80::1]"},
		"this host":                        {peer.Policy{}, "0.0.0.0"},
		"this host in IPv6":                {peer.Policy{}, "[::]"},
		"multicast":                        {peer.Policy{}, "224.0.0.1"},
		"a network of the operator":        {peer.Policy{Deny: prefixes("10.0.0.0/8")}, "10.1.2.3"},
		"a name that leads there":          {peer.Policy{Deny: prefixes("127.0.0.0/8", "::1/128")}, "localhost"},
		"another network is the exception": {peer.Policy{Deny: prefixes("10.0.0.0/8"), Allow: prefixes("10.9.0.0/16")}, "10.1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var denied *peer.DeniedError
			if err := get(t, test.policy, "http://"+test.host+":9/"); !errors.As(err, &denied) {
				t.Errorf("error %v, want that the address is denied", err)
			}
		})
	}
}

func TestAllowedAddressesAreCalled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	for name, policy := range map[string]peer.Policy{
		"by default":       {},
		"as an exception":  {Deny: prefixes("127.0.0.0/8"), Allow: prefixes("127.0.0.1/32")},
		"others forbidden": {Deny: prefixes("10.0.0.0/8")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := get(t, policy, server.URL); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	t.Cleanup(server.Close)
	if err := get(t, peer.Policy{}, server.URL); err != nil {
		t.Errorf("error %v, want the redirect as the answer", err)
	}
}

// rebinding is a name server by which a name means a harmless address once, and then the metadata service.
func rebinding(t *testing.T) *net.Resolver {
	t.Helper()
	listener, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	addresses := [][4]byte{{127, 0, 0, 1}, {169, 254, 169, 254}}
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := listener.ReadFrom(packet)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if err := query.Unpack(packet[:n]); err != nil || len(query.Questions) != 1 {
				continue
			}
			question := query.Questions[0]
			answer := dnsmessage.Message{Header: dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true}, Questions: query.Questions}
			if question.Type == dnsmessage.TypeA {
				header := dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}
				answer.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addresses[0]}}}
				addresses = addresses[len(addresses)-1:]
			}
			if packed, err := answer.Pack(); err == nil {
				_, _ = listener.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", listener.LocalAddr().String())
	}}
}

func TestNamesThatComeToMeanSomethingElse(t *testing.T) { //nolint:paralleltest // it changes the resolver of the process
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }))
	t.Cleanup(server.Close)
	former := net.DefaultResolver
	net.DefaultResolver = rebinding(t)
	t.Cleanup(func() { net.DefaultResolver = former })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	url := "http://rebinding.example.:" + port + "/"
	if err := get(t, peer.Policy{}, url); err != nil {
		t.Errorf("while it means this host: %v", err)
	}
	var denied *peer.DeniedError
	if err := get(t, peer.Policy{}, url); !errors.As(err, &denied) || denied.Address != netip.MustParseAddr("169.254.169.254") {
		t.Errorf("when it means the metadata service: %v", err)
	}
}
