package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

// healthcheckCommand is what a container without a shell is asked by.
type healthcheckCommand struct {
	URL string `arg:"" optional:"" help:"What to ask. Default: http:// with the address of the API (VNFM_LISTEN, else 127.0.0.1:9890) and /readyz."`
}

// healthTime is how long the server may take to answer.
const healthTime = 5 * time.Second

func (c *healthcheckCommand) Run(ctx context.Context) error {
	address := cmp.Or(c.URL, "http://"+cmp.Or(os.Getenv("VNFM_LISTEN"), "127.0.0.1:9890")+"/readyz")
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody) //nolint:gosec // whoever starts it says what is asked
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // as above
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return nil
}
