package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"vnfm/store/postgres"
)

type secretsCommand struct {
	Rotate secretsRotateCommand `cmd:"" help:"Make a new key and seal all secrets with it; servers may run on."`
}

type secretsRotateCommand struct {
	databaseFlags
	Prepare bool `xor:"stage" help:"Only add a key to the key file that is not used yet. For servers with a key file of their own each: give the file to all of them, then rotate."`
	Retire  bool `xor:"stage" help:"Remove the former keys from the key file, once no secret is sealed with them."`
}

func (c *secretsRotateCommand) Run(ctx context.Context) (err error) {
	if c.DatabaseURL == "" {
		// A server that runs has started the private PostgreSQL already.
		running, err := postgres.Running(filepath.Join(c.DataDir, "postgres"))
		if err != nil {
			return err
		}
		if running != "" {
			c.DatabaseURL = running
			if c.SecretKeyFile == "" {
				c.SecretKeyFile = filepath.Join(c.DataDir, "secret.key")
			}
		}
	}
	db, err := c.open(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var told string
	switch {
	case c.Prepare:
		told, err = "a key is prepared: give the key file to all servers, then rotate\n", db.PrepareKey(ctx)
	case c.Retire:
		var retired int
		retired, err = db.RetireKeys(ctx)
		told = fmt.Sprintf("%d former keys are removed from the key file\n", retired)
	default:
		var values int
		var begun bool
		values, begun, err = db.RotateKey(ctx)
		told = fmt.Sprintf("a new key is in use, %d secrets are sealed with it anew; --retire removes the former one\n", values)
		if begun {
			told = fmt.Sprintf("the rotation begun before was carried on, %d secrets are sealed anew; --retire removes the former key\n", values)
		}
	}
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(told)
	return err
}
