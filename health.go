package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"vnfm/api/peer"
)

// healthcheckCommand is what a container without a shell is asked by.
type healthcheckCommand struct {
	URL           string `arg:"" optional:"" help:"What to ask. Default: /readyz of the server that has the same VNFM_LISTEN and VNFM_TLS_CERT_FILE."`
	peer.TLSFiles `envprefix:"VNFM_HEALTHCHECK_"`
}

// healthTime is how long the server may take to answer.
const healthTime = 5 * time.Second

func (c *healthcheckCommand) Run(ctx context.Context) error {
	security, err := c.Config("--")
	if err != nil {
		return err
	}
	address := c.URL
	if address == "" {
		scheme, certificate := "http://", os.Getenv("VNFM_TLS_CERT_FILE")
		if certificate != "" {
			scheme = "https://"
			if err := expect(security, certificate); err != nil {
				return err
			}
		}
		address = scheme + cmp.Or(os.Getenv("VNFM_LISTEN"), "127.0.0.1:9890") + "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody) //nolint:gosec // whoever starts it says what is asked
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: security}}
	response, err := client.Do(request) //nolint:gosec // as above
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return nil
}

// expect lets a connection be only to who has the certificate of a file, which need not be for the address that is asked.
func expect(config *tls.Config, file string) error {
	content, err := os.ReadFile(file) //nolint:gosec // as above
	if err != nil {
		return err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return fmt.Errorf("%s holds no certificate in PEM", file)
	}
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
			return errors.New("the server has another certificate than that of VNFM_TLS_CERT_FILE")
		}
		return nil
	}
	return nil
}
