// Package store keeps VNF packages, VNF instances, operations and VIMs in PostgreSQL, and is the job queue that has operations
// carried out. It implements the store interfaces of packages lcm and vnfpkg.
//
//	store, err := store.Open(ctx, store.Config{URL: url, Keys: keyring})
//	err = store.Migrate(ctx)
//	workers, err := store.NewWorkers(store, engine, registry, store.WorkersConfig{})
//	err = workers.Start(ctx)
//
// Secrets are sealed (seal.go) with keys that can be replaced while servers run (rotate.go); what the API shows is kept masked beside them, so that reading for it opens no seal.
package store
