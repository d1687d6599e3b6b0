package kubernetes

import (
	"context"
	"net/netip"

	"vnfm/mgmtdriver"
)

// register registers a new cluster as a VIM.
func (s *site) register(ctx context.Context) (mgmtdriver.Result, error) {
	if !s.Whole() {
		return mgmtdriver.Done(nil), nil
	}
	c, err := s.control(ctx, s.Masters)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	token, wait, err := c.Admin(ctx, s.Call)
	if err != nil || token == "" {
		return wait, err
	}
	ca, err := c.caCertificate(ctx)
	if err != nil {
		return mgmtdriver.Result{}, err
	}
	address := s.address
	if s.outside.IsValid() {
		address = s.outside
		if script, err := s.script(ctx); err != nil {
			return mgmtdriver.Result{}, err
		} else if !script.phased {
			ca = "" // an old script does not know of the address, so the certificate is not for it
		}
	}
	return mgmtdriver.Done(nil), s.Call.Vims.Register(ctx, mgmtdriver.Vim{
		Name: s.vimName, Type: "kubernetes", BearerToken: token, CACertificate: ca,
		URL: "https://" + netip.AddrPortFrom(address, uint16(s.port())).String(),
	})
}
