// Package ssh is how management drivers act on virtual machines: commands, files, and commands that outlive the connection.
//
// A [Pool], one per process, keeps connections. A [Host] is a machine on behalf of a call of a driver. In order of use:
//
//	secrets := ssh.NewRedactor(proxyPassword)                     // what must not be read in logs and errors
//	target := ssh.VnfcTarget("worker59", &vnfc, address, user, password)
//	host := pool.Host(call, target, secrets)
//
//	result, err := ssh.Await(ctx, call, hosts, 15*time.Minute)    // a step: until servers that were just made let one log in
//	output, err := host.Run(ctx, ssh.Command{Argv: []string{"kubectl", "get", "nodes", "-o", "json"}})
//	err = host.Put(ctx, ssh.File{Path: "/etc/hosts", Content: ssh.Bytes(hosts), Mode: 0o644, Root: true})
//	progress, err := host.Drive(ctx, ssh.Job{ID: ssh.JobID(call, "install"), Argv: …, Root: true})   // minutes: poll it with a step that waits
//	err = ssh.Each(ctx, hosts, 0, func(ctx context.Context, i int, host *ssh.Host) error { … })      // all hosts at once
//
// Errors are made for the engine: a step returns them as they are. *[mgmtdriver.Unavailable] may pass by itself: a host that starts, a connection
// that is lost, a login that is refused while the host may still have to make the account. [LoginError], [HostKeyError] and a [Job] that has failed
// are [mgmtdriver.Failure], which ends the operation. An [ExitError] of [Host.Run] is neither: the step is repeated for some seconds.
//
// Everything that is run is logged. Secrets belong on the standard input, into the environment or into files, never into Argv: everybody on
// the host can read that.
//
// The hosts need an OpenSSH server with SFTP, a POSIX shell, coreutils, findutils, util-linux, and sudo unless root logs in. Package sshtest has one for
// tests.
package ssh
