// Package sshtest is a virtual machine as seen over SSH: an SSH and SFTP server in this process, with a loopback address of its own, an
// in-memory file system and a handler in Go that plays the commands. Nothing is mocked on the client's side: keys, passwords, host keys, cut
// connections and file transfers are real.
//
// In a test:
//
//	vm := sshtest.Start(t, sshtest.Options{
//		User: "ubuntu", Password: "ubuntu",
//		Handler: func(ctx context.Context, s *sshtest.Session) int {
//			if s.Command == "hostname" {
//				fmt.Fprintln(s.Stdout, "worker0")
//				return 0
//			}
//			return sshtest.Unknown(ctx, s)
//		},
//	})
//	client, err := ssh.Dial("tcp", vm.AddrPort().String(), ...)   // 127.x.y.z:PORT, nobody else's
//	vm.HostKey()                                                   // to pin
//	vm.Journal()                                                   // what ran
//	vm.Kill()                                                      // cuts every connection; the server goes on
//	vm.Close()                                                     // the machine is gone
//
// Linux is a handler for what package ssh does itself, such as sudo, files and jobs; a driver's machine is Linux(handler), and its handler
// sees the words of the driver's own programs. HostKeys are the memory of host keys that a driver's call needs.
//
// A handler that does not know a command must say so loudly: Unknown, which is also the default, writes to standard error and exits 127.
//
// Addresses. Reserve keeps a loopback address against other processes (and other machines of this one) by holding a UDP socket on it;
// FreeAddr finds and reserves one. A Server can answer at several addresses: Attach and Detach.
package sshtest
