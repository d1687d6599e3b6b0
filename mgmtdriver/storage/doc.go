// Package storage makes a VM a storage server of a Kubernetes cluster: volumes get a file system and are mounted, directories are exported by
// NFS, and manifests of PersistentVolumes get the server's address. The driver of package kubernetes decides when. In order of use:
//
//	p := storage.Read(reader)                                    // storage_server and pv_registration_params; nil if they are not there
//	err := p.Check(ctx, call, pointer)                           // when the request arrives
//	result, err := p.Server.PrepareVolumes(ctx, call, host, limits)   // a step: ext4, /etc/fstab, mounted
//	job := storage.Install(storage.ServerPackage, env)           // run by root on the storage server; ClientPackage on the nodes
//	err = p.Server.Export(ctx, host)                             // the directories are made and exported
//	manifests, err := p.Manifests(ctx, call.Package)
//	text, err := manifests[0].For(address)                       // for kubectl apply
//
// Everything may be done again: what is there is kept, and a volume is formatted only if there is nothing on it.
package storage
